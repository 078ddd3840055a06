# For the examples about commits: a git repository with a small program, ./prog, that does a given amount of work. Read by `.`.
# shellcheck shell=sh
git init --quiet --initial-branch=main repository
cd repository
git config user.name example
git config user.email example@example.org
git config commit.gpgsign false

# Commits a version of the program that counts to a number.
version() { # COUNT MESSAGE
    cat >prog <<END
#!/usr/bin/awk -f
BEGIN { for (i = 0; i < $1; i++) sum += i % 7; print sum }
END
    chmod +x prog
    git add prog
    git commit --quiet --allow-empty --message "$2"
}
