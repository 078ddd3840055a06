use super::*;

pub(crate) fn program(command: &str) -> CampaignProgram {
    CampaignProgram { command: command.to_owned(), ..CampaignProgram::default() }
}

/// Two programs on all machines, once.
pub(crate) fn campaign() -> Campaign {
    Campaign {
        name: "sorting".to_owned(),
        programs: vec![program("sort a.txt"), program("sort -S 1G a.txt")],
        parameters: BTreeMap::new(),
        options: Vec::new(),
        tags: BTreeMap::new(),
        machines: MachineChoice::All,
        repeat: CampaignRepeat::Once,
        needs: CampaignNeeds::default(),
        time_limit: None,
        retries: 0,
    }
}

fn with(change: impl FnOnce(&mut Campaign)) -> Result<(), String> {
    let mut campaign = campaign();
    change(&mut campaign);
    campaign.check().map_err(|e| e.to_string())
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|t| (*t).to_owned()).collect()
}

fn one(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

#[test]
fn what_is_right_is_accepted() {
    assert_eq!(campaign().check(), Ok(()));
    let all = with(|c| {
        c.name = "-n {x}\n7".to_owned();
        c.parameters.insert("level".to_owned(), texts(&["1", "", "a,b", "-O2", "x\\"]));
        c.options = texts(&["-r", "20", "--sigma", "-1", "--order=rounds", "--tag", "a=lab.b"]);
        c.tags = one("suite", "");
        c.machines = MachineChoice::Tags { tags: one("rack", "7"), count: Some(2) };
        c.repeat = CampaignRepeat::AtRandom { times: 10, within: Nanos(7 * DAY.0), seed: 1 };
        c.needs.files = vec![NeededFile { path: "in.txt".to_owned(), sha256: Some("aB".repeat(32)) }];
        c.needs.directory = Some("/srv/suite".to_owned());
        c.needs.build = Some("make".to_owned());
        c.time_limit = Some(SECOND);
        c.retries = 3;
        for p in &mut c.programs {
            p.setup = Some("true".to_owned());
        }
    });
    assert_eq!(all, Ok(()));
}

/// A wrong campaign, and what its sentence has.
type WrongCampaign = (Box<dyn FnOnce(&mut Campaign)>, &'static str);

fn wrong(change: impl FnOnce(&mut Campaign) + 'static, said: &'static str) -> WrongCampaign {
    (Box::new(change), said)
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        wrong(|c| c.name = " ".to_owned(), "no name"),
        wrong(|c| c.name = "12".to_owned(), "`12` is a number"),
        wrong(|c| c.name = "x".repeat(201), "201 characters, expected at most 200"),
        wrong(|c| c.name = "a\0".to_owned(), "the campaign's name contains a zero byte"),
        wrong(|c| c.programs.clear(), "no program"),
        wrong(|c| c.programs.push(program("\n")), "program 3: the command is empty"),
        wrong(|c| c.programs.push(program("a\0b")), "program 3 contains a zero byte"),
        wrong(|c| c.programs[0].label = Some(" ".to_owned()), "program 1: the label is empty"),
        wrong(|c| c.programs.push(program("sort a.txt")), "programs 1 and 3 have the same name `sort a.txt`"),
        wrong(|c| c.programs[1].setup = Some("make".to_owned()), "differ in their setup command"),
        wrong(|c| c.programs[0].cleanup = Some("rm x".to_owned()), "differ in their cleanup command"),
        wrong(|c| drop(c.parameters.insert("-L".to_owned(), texts(&["1"]))), "`-L` is not a valid parameter name"),
        wrong(|c| drop(c.parameters.insert("{a".to_owned(), texts(&["1"]))), "not a valid parameter name"),
        wrong(|c| drop(c.parameters.insert("a".to_owned(), Vec::new())), "`a` has no values"),
        wrong(|c| drop(c.parameters.insert("a".to_owned(), texts(&["1", "1"]))), "the value `1` twice"),
        wrong(|c| drop(c.parameters.insert("a".to_owned(), texts(&["x\\", "y"]))), "`x\\` ends in a backslash"),
        wrong(|c| drop(c.parameters.insert("a".to_owned(), texts(&["--"]))), "the single value `--`"),
        wrong(
            |c| drop(c.parameters.insert("a".to_owned(), (0..5_001).map(|i| i.to_string()).collect())),
            "more than 10000 programs",
        ),
        wrong(|c| c.options = texts(&["-r", "5", "--"]), "`--` is set by the campaign itself"),
        wrong(|c| c.options = texts(&["-Lx"]), "list the values in its parameters"),
        wrong(|c| c.options = texts(&["-Nn", "x"]), "give the programs labels"),
        wrong(|c| c.options = texts(&["--db=x"]), "`--db=x` is set by the campaign itself"),
        wrong(|c| c.options = texts(&["--setup", "x"]), "write it to the programs"),
        wrong(|c| c.options = texts(&["--tag", "lab.task=1"]), "`lab.task=1`: tags that begin with `lab.`"),
        wrong(|c| c.options = texts(&["--tag=lab.x=1"]), "tags that begin with `lab.`"),
        wrong(|c| c.tags = one("lab.task", "x"), "tags that begin with `lab.`"),
        wrong(|c| c.tags = one("a=b", "x"), "`a=b` is no key of a tag"),
        wrong(|c| c.machines = MachineChoice::Count(0), "expected at least one"),
        wrong(|c| c.machines = MachineChoice::Names(Vec::new()), "expected at least one"),
        wrong(|c| c.machines = MachineChoice::Names(texts(&["a", ""])), "a name is empty"),
        wrong(|c| c.machines = MachineChoice::Names(texts(&["a", "a"])), "`a` is given twice"),
        wrong(|c| c.machines = MachineChoice::Tags { tags: BTreeMap::new(), count: None }, "expected at least one"),
        wrong(|c| c.repeat = CampaignRepeat::Times { times: 0, every: None }, "at least one time"),
        wrong(|c| c.repeat = CampaignRepeat::Times { times: 2, every: Some(Nanos(0)) }, "above 0"),
        wrong(|c| c.repeat = CampaignRepeat::Times { times: 1 << 31, every: Some(DAY) }, "at most ten years"),
        wrong(|c| c.repeat = CampaignRepeat::Nightly { nights: 3, at: (24, 0) }, "24:00 is no time of the day"),
        wrong(
            |c| c.repeat = CampaignRepeat::AtRandom { times: 11, within: Nanos(10 * SECOND.0), seed: 1 },
            "11 times within 10 s",
        ),
        wrong(|c| c.needs.files = vec![NeededFile { path: String::new(), sha256: None }], "path of file 1 is empty"),
        wrong(
            |c| c.needs.files = vec![NeededFile { path: "a".to_owned(), sha256: Some("é".repeat(32)) }],
            "is no SHA-256",
        ),
        wrong(|c| c.needs.build = Some(String::new()), "the build command is empty"),
        wrong(|c| c.needs.directory = Some("suite".to_owned()), "`suite` is relative"),
        wrong(|c| c.time_limit = Some(Nanos(0)), "time limit"),
        wrong(|c| c.retries = 1_001, "1001, expected at most 1000"),
    ];
    for (change, said) in cases {
        let found = with(change).unwrap_err();
        assert!(found.contains(said), "{said}: {found}");
    }
}

#[test]
fn a_campaign_is_the_same_after_json() {
    let mut c = campaign();
    for repeat in [
        CampaignRepeat::Once,
        CampaignRepeat::Times { times: 3, every: Some(Nanos(7)) },
        CampaignRepeat::Nightly { nights: 3, at: (2, 30) },
        CampaignRepeat::AtRandom { times: 3, within: DAY, seed: u64::MAX },
    ] {
        c.repeat = repeat;
        let text = serde_json::to_string(&c).unwrap();
        assert_eq!(serde_json::from_str::<Campaign>(&text).unwrap(), c, "{text}");
    }
    let bare = r#"{"name":"a","programs":[{"command":"b"}],"machines":"all","repeat":"once"}"#;
    let read: Campaign = serde_json::from_str(bare).unwrap();
    assert_eq!((read.check(), read.series(), read.programs[0].name()), (Ok(()), 1, "b"));
    let choice = serde_json::to_string(&MachineChoice::Tags { tags: one("a", "b"), count: None }).unwrap();
    assert_eq!(choice, r#"{"tags":{"tags":{"a":"b"},"count":null}}"#);
}

#[test]
fn machines_fit_by_name_and_tags() {
    let tags = BTreeMap::from([("rack".to_owned(), "7".to_owned()), ("os".to_owned(), "x".to_owned())]);
    let fits = |choice: &MachineChoice| choice.fits("a", &tags);
    assert!(fits(&MachineChoice::All) && fits(&MachineChoice::Count(3)));
    assert!(fits(&MachineChoice::Names(texts(&["b", "a"]))) && !fits(&MachineChoice::Names(texts(&["b"]))));
    let by_tags = |key: &str, value: &str| MachineChoice::Tags { tags: one(key, value), count: None };
    assert!(fits(&by_tags("rack", "7")) && !fits(&by_tags("rack", "8")) && !fits(&by_tags("row", "7")));
}
