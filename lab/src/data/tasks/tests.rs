use super::*;
use crate::data::campaign::tests::{campaign, program};
use crate::data::fixtures::host;
use proptest::prelude::*;

const NOW: Nanos = Nanos(1_700_000_000 * SECOND.0);

pub(crate) fn machine(name: &str, state: LabMachineState) -> LabMachine {
    LabMachine {
        name: name.to_owned(),
        owner: "u".to_owned(),
        tags: BTreeMap::from([("rack".to_owned(), name.chars().take(1).collect())]),
        machine: "1".repeat(16),
        fingerprint: "2".repeat(16),
        host: host(name),
        factors: Vec::new(),
        version: "1".to_owned(),
        state,
        load: None,
        first_seen: NOW,
        heartbeat: NOW,
        task: None,
        draining: false,
    }
}

fn expanded(campaign: &Campaign, machines: &[LabMachine]) -> Result<Vec<LabTaskPlan>, CampaignError> {
    let mut n = 0;
    let mut uuids = || {
        n += 1;
        format!("{n:032x}")
    };
    expand(campaign, machines, NOW, NOW - Nanos(3 * 3_600 * SECOND.0), &mut uuids)
}

/// The options of a task, and its programs, as `tare run` takes them.
#[derive(Debug, PartialEq)]
struct ReadArguments {
    options: Vec<(String, String)>,
    lists: Vec<(String, Vec<String>)>,
    programs: Vec<String>,
}

/// Reads arguments as the command's parser does: `--name=value`, the two values of a list, and programs.
fn read(arguments: &[String]) -> ReadArguments {
    let mut found = ReadArguments { options: Vec::new(), lists: Vec::new(), programs: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--parameter-list" {
            let (name, values) = (words.next().unwrap(), words.next().unwrap());
            found.lists.push((name.clone(), split(values)));
        } else if let Some(option) = word.strip_prefix("--") {
            let (name, value) = option.split_once('=').unwrap();
            found.options.push((name.to_owned(), value.to_owned()));
        } else {
            assert!(!word.starts_with('-'), "{word}");
            found.programs.push(word.clone());
        }
    }
    found
}

/// As `split_commas` of the command.
fn split(text: &str) -> Vec<String> {
    let marked = text.replace("\\,", "\0");
    marked.split(',').map(|v| v.replace('\0', ",")).collect()
}

#[test]
fn a_task_has_all_programs_and_parameters() {
    let mut c = campaign();
    c.parameters.insert("level".to_owned(), vec!["1".to_owned(), "a,b".to_owned(), "-9".to_owned()]);
    c.programs[1].label = Some("-big".to_owned());
    c.programs[1].prepare = Some("rm -f out".to_owned());
    c.programs.push(program("-x {level}"));
    c.options = vec!["--runs=20".to_owned()];
    c.needs.directory = Some("/srv".to_owned());
    c.tags.insert("suite".to_owned(), "s".to_owned());
    let tasks = expanded(&c, &[machine("a1", LabMachineState::Idle)]).unwrap();
    let expected = [
        "--tag=lab.campaign=sorting",
        "--tag=lab.repetition=0",
        "--tag=lab.task=00000000000000000000000000000001",
        "--tag=suite=s",
        "--runs=20",
        "--cwd=/srv",
        "--prepare=:",
        "--prepare=rm -f out",
        "--prepare=:",
        "--parameter-list",
        "level",
        "1,a\\,b,-9",
        "--command-name=sort a.txt",
        "--command-name=-big",
        "--command-name=-x {level}",
        "sort a.txt",
        "sort -S 1G a.txt",
        " -x {level}",
    ];
    assert_eq!((tasks.len(), tasks[0].arguments.as_slice()), (1, expected.map(str::to_owned).as_slice()));
    assert_eq!(tasks[0].machine.as_deref(), Some("a1"));
    assert_eq!(tasks[0].fits, MachineChoice::Names(vec!["a1".to_owned()]));
    let json = serde_json::to_string(&tasks).unwrap();
    assert_eq!(serde_json::from_str::<Vec<LabTaskPlan>>(&json).unwrap(), tasks);
}

#[test]
fn machines_are_chosen() {
    let there = [
        machine("b1", LabMachineState::Busy),
        machine("a1", LabMachineState::Idle),
        machine("a2", LabMachineState::Gone),
        machine("a3", LabMachineState::Draining),
    ];
    let rack = |name: &str| BTreeMap::from([("rack".to_owned(), name.to_owned())]);
    let chosen = |choice: MachineChoice| {
        let mut c = campaign();
        c.machines = choice;
        let tasks = expanded(&c, &there).map_err(|e| e.to_string())?;
        Ok(tasks.into_iter().map(|t| t.machine.unwrap_or_else(|| "any".to_owned())).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(chosen(MachineChoice::All), Ok("a1 a3 b1".to_owned()));
    assert_eq!(chosen(MachineChoice::Names(vec!["new".to_owned(), "a2".to_owned()])), Ok("new a2".to_owned()));
    assert_eq!(chosen(MachineChoice::Tags { tags: rack("a"), count: None }), Ok("a1 a3".to_owned()));
    assert_eq!(chosen(MachineChoice::Tags { tags: rack("a"), count: Some(3) }), Ok("any any any".to_owned()));
    assert_eq!(chosen(MachineChoice::Count(2)), Ok("any any".to_owned()));
    let none: Result<String, String> = Err("no machine of the lab fits: 4 are known".to_owned());
    assert_eq!(chosen(MachineChoice::Tags { tags: rack("c"), count: None }), none);
    assert!(chosen(MachineChoice::Count(u32::MAX)).unwrap_err().contains("expected at most 100000"));
    let mut c = campaign();
    c.machines = MachineChoice::Tags { tags: rack("a"), count: Some(3) };
    assert_eq!(expanded(&c, &[]).unwrap()[2].fits, c.machines);
}

#[test]
fn repetitions_have_their_times() {
    let at = |repeat: CampaignRepeat| {
        let c = Campaign { repeat, machines: MachineChoice::Count(1), ..campaign() };
        expanded(&c, &[]).unwrap().iter().map(|t| (t.not_before - NOW).0 / SECOND.0).collect::<Vec<_>>()
    };
    assert_eq!(at(CampaignRepeat::Once), [0]);
    assert_eq!(at(CampaignRepeat::Times { times: 3, every: None }), [0, 0, 0]);
    assert_eq!(at(CampaignRepeat::Times { times: 3, every: Some(SECOND) }), [0, 1, 2]);
    // It is three o'clock: half past four is today, half past two tomorrow.
    assert_eq!(at(CampaignRepeat::Nightly { nights: 2, at: (4, 30) }), [5_400, 91_800]);
    assert_eq!(at(CampaignRepeat::Nightly { nights: 2, at: (2, 30) }), [84_600, 171_000]);
    assert_eq!(at(CampaignRepeat::Nightly { nights: 1, at: (3, 0) }), [0]);
    // All seconds of the window, without endless drawing.
    let full = CampaignRepeat::AtRandom { times: 1_000, within: Nanos(1_000 * SECOND.0), seed: 9 };
    assert_eq!(at(full), (0..1_000).collect::<Vec<_>>());
    let draw = |seed| at(CampaignRepeat::AtRandom { times: 10, within: Nanos(7 * DAY.0), seed });
    assert_ne!(draw(1), draw(2));
    // Reproducible with every version.
    assert_eq!(draw(1), draw(1));
    // Spread over the week: 200 sets of 10 leave no day without any.
    let mut days = [0; 7];
    for seed in 0..200 {
        draw(seed).iter().for_each(|s| days[usize::try_from(s / 86_400).unwrap()] += 1);
    }
    assert!(days.iter().all(|n| (220..=350).contains(n)), "{days:?}");
}

#[test]
fn too_many_tasks_are_refused() {
    let c = Campaign {
        machines: MachineChoice::Count(1_000),
        repeat: CampaignRepeat::Times { times: 101, every: None },
        ..campaign()
    };
    assert_eq!(expanded(&c, &[]), Err(CampaignError::TooManyTasks(101_000)));
    let c = Campaign { name: String::new(), ..campaign() };
    assert_eq!(expanded(&c, &[]), Err(CampaignError::NoName));
}

/// Any text without a zero byte, often one that looks like an option.
fn hostile() -> BoxedStrategy<String> {
    let parts = ["-", "--", " ", "\n", "{x}", "{", "}", "=", ",", "\\", "a", "é", "--tag", "'", "\"", ";", "*"];
    proptest::collection::vec(proptest::sample::select(parts.to_vec()), 0..6).prop_map(|p| p.concat()).boxed()
}

fn hostile_program() -> BoxedStrategy<CampaignProgram> {
    let hook = || proptest::option::of(hostile());
    (hostile(), hook(), hook(), hook())
        .prop_map(|(text, label, prepare, conclude)| {
            let command = format!("{text}p");
            CampaignProgram { command, label, prepare, conclude, ..CampaignProgram::default() }
        })
        .boxed()
}

fn hostile_campaign() -> BoxedStrategy<Campaign> {
    let parameters =
        proptest::collection::btree_map(hostile(), proptest::collection::vec(hostile(), 1..4), 0..3).boxed();
    let programs = proptest::collection::vec(hostile_program(), 1..4).boxed();
    let tags = proptest::collection::btree_map(hostile(), hostile(), 0..3).boxed();
    (hostile(), programs, parameters, tags, hostile(), 1..4_u32, 1..4_u32)
        .prop_map(|(name, programs, parameters, tags, setup, count, times)| {
            let mut c = Campaign {
                name: format!("{name}n"),
                programs,
                parameters,
                tags,
                machines: MachineChoice::Count(count),
                repeat: CampaignRepeat::Times { times, every: None },
                ..campaign()
            };
            for p in &mut c.programs {
                p.setup = Some(setup.clone());
            }
            c
        })
        .boxed()
}

/// A command without the space that keeps it from being an option.
fn bare(command: &str) -> &str {
    command.strip_prefix(' ').filter(|rest| rest.starts_with('-')).unwrap_or(command)
}

proptest! {
    #[test]
    fn every_text_is_one_argument(c in hostile_campaign()) {
        prop_assume!(c.check().is_ok());
        let tasks = expanded(&c, &[]).unwrap();
        let MachineChoice::Count(count) = c.machines else { panic!() };
        prop_assert_eq!(tasks.len() as u32, c.repeat.times() * count);
        for (ordinal, task) in (0..).zip(&tasks) {
            prop_assert_eq!((task.ordinal, task.repetition), (ordinal, ordinal / count));
            let found = read(&task.arguments);
            // What the parser takes is what was written: all programs, and all values of all parameters.
            let commands: Vec<&str> = found.programs.iter().map(|p| bare(p)).collect();
            let written: Vec<&str> = c.programs.iter().map(|p| bare(&p.command)).collect();
            prop_assert_eq!(commands, written);
            let lists: Vec<(String, Vec<String>)> = c.parameters.clone().into_iter().collect();
            prop_assert_eq!(&found.lists, &lists);
            let values = |option: &str| {
                found.options.iter().filter(|(o, _)| o == option).map(|(_, v)| v.clone()).collect::<Vec<_>>()
            };
            let names: Vec<String> = c.programs.iter().map(|p| p.name().to_owned()).collect();
            prop_assert_eq!(values("command-name"), names);
            prop_assert_eq!(values("setup"), vec![c.programs[0].setup.clone().unwrap()]);
            let tags: Vec<String> = task.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
            prop_assert_eq!(values("tag"), tags);
            prop_assert_eq!(&task.tags["lab.campaign"], &c.name);
            prop_assert_eq!(&task.tags["lab.task"], &task.uuid);
            for (option, hook) in [("prepare", 0), ("conclude", 1)] {
                let hook_text = |p: &CampaignProgram| if hook == 0 { p.prepare.clone() } else { p.conclude.clone() };
                let all: Vec<Option<String>> = c.programs.iter().map(hook_text).collect();
                let expected: Vec<String> = if all.iter().all(Option::is_none) { Vec::new() } else {
                    all.into_iter().map(|h| h.unwrap_or_else(|| ":".to_owned())).collect()
                };
                prop_assert_eq!(values(option), expected);
            }
        }
    }

    #[test]
    fn random_times_are_in_the_window(times in 1..200_u32, extra in 0..100_000_i64, seed in any::<u64>()) {
        let seconds = i64::from(times) + extra;
        let repeat = CampaignRepeat::AtRandom { times, within: Nanos(seconds * SECOND.0 + 7), seed };
        let c = Campaign { repeat, machines: MachineChoice::Count(2), ..campaign() };
        let tasks = expanded(&c, &[]).unwrap();
        let at: Vec<Nanos> = tasks.iter().step_by(2).map(|t| t.not_before).collect();
        prop_assert_eq!(at.len() as u32, times);
        prop_assert!(at.windows(2).all(|w| w[0] < w[1]));
        prop_assert!(at.iter().all(|t| *t >= NOW && *t < NOW + Nanos(seconds * SECOND.0)));
        // Machines of one repetition begin together.
        prop_assert!(tasks.chunks(2).all(|pair| pair[0].not_before == pair[1].not_before));
        prop_assert_eq!(expanded(&c, &[]).unwrap(), tasks);
    }

    #[test]
    fn nights_are_later_than_now(hour in 0..24_u8, minute in 0..60_u8, nights in 1..50_u32, since in 0..86_400_i64) {
        let midnight = NOW - Nanos(since * SECOND.0);
        let at = super::times(&CampaignRepeat::Nightly { nights, at: (hour, minute) }, NOW, midnight);
        prop_assert_eq!(at.len() as u32, nights);
        prop_assert!(at[0] >= NOW && at[0] < NOW + DAY);
        let minutes = i64::from(hour) * 60 + i64::from(minute);
        prop_assert!(at.iter().all(|t| (t.0 - midnight.0).rem_euclid(DAY.0) == minutes * 60 * SECOND.0));
        prop_assert!(at.windows(2).all(|w| w[1] - w[0] == DAY));
    }

    /// Nothing panics, whatever a file or a database holds.
    #[test]
    fn any_campaign_is_refused_or_expanded(
        c in hostile_campaign(), now in any::<i64>(), midnight in any::<i64>(), every in any::<i64>(),
        options in proptest::collection::vec(hostile(), 0..3)
    ) {
        let c = Campaign { repeat: CampaignRepeat::Times { times: 3, every: Some(Nanos(every)) }, options, ..c };
        let _ = expand(&c, &[], Nanos(now), Nanos(midnight), &mut String::new);
        let c = Campaign { repeat: CampaignRepeat::Nightly { nights: 3, at: (7, 0) }, ..c };
        let _ = expand(&c, &[], Nanos(now), Nanos(midnight), &mut String::new);
    }
}
