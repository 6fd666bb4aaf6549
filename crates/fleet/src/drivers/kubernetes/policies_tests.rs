use super::*;

#[test]
fn one_replica_may_be_moved_and_of_several_one_at_a_time() {
    assert_eq!([0, 1, 2, 5].map(least_available), [None, None, Some(1), Some(4)]);
    let written = budget("ep-1", "forebay", "ep_1", 4);
    assert_eq!(written["spec"]["minAvailable"], 4);
    assert_eq!(written["spec"]["selector"]["matchLabels"]["forebay.dev/endpoint-id"], "ep_1");
}

#[test]
fn budgets_become_what_is_wanted_and_those_of_endpoints_that_are_gone_go() {
    let there: BTreeMap<String, u32> =
        [("ep-same", 2), ("ep-other", 1), ("ep-gone", 1), ("ep-one", 3)].map(|(n, l)| (n.to_owned(), l)).into();
    let wanted: ReplicaTargets = [("ep_same", 3), ("ep_other", 5), ("ep_one", 1), ("ep_new", 2), ("ep_none", 0)]
        .map(|(name, replicas)| (name.to_owned(), replicas))
        .into();
    let write =
        |name: &str, endpoint: &str, least| Change { name: name.into(), least: Some((endpoint.to_owned(), least)) };
    let remove = |name: &str| Change { name: name.into(), least: None };
    assert_eq!(
        changes(&there, &wanted),
        [remove("ep-gone"), remove("ep-one"), write("ep-new", "ep_new", 1), write("ep-other", "ep_other", 4)]
    );
    assert_eq!(changes(&BTreeMap::new(), &ReplicaTargets::new()), []);
}

#[test]
fn what_is_known_is_forgotten_after_a_while_and_by_who_leads_anew() {
    let start = Instant::now();
    let fresh = |asked_at| Known {
        budgets: Some((BTreeMap::new(), start)),
        network: Some(start),
        asked_at: Some(asked_at),
        not_before: None,
    };
    let is_known = |mut known: Known, now| {
        known.forget_what_is_old(now);
        (known.budgets.is_some(), known.network.is_some())
    };
    let after = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(is_known(fresh(after(298)), after(299)), (true, true));
    assert_eq!(is_known(fresh(after(299)), after(300)), (false, false), "others may have changed it");
    assert_eq!(is_known(fresh(after(0)), after(10)), (false, false), "another node may have led");
    assert_eq!(is_known(Known::default(), start), (false, false));
}

#[test]
fn only_those_named_may_call() {
    let callers = Callers {
        pods: [("app".to_owned(), "gateway".to_owned())].into(),
        namespace: Some("front".into()),
        networks: vec!["10.1.0.0/16".into()],
    };
    let policy = network_policy("n", "forebay", 8000, &callers);
    let rule = &policy["spec"]["ingress"][0];
    assert_eq!(rule["from"][0]["ipBlock"]["cidr"], "10.1.0.0/16");
    assert_eq!(rule["from"][1]["podSelector"]["matchLabels"]["app"], "gateway");
    assert_eq!(rule["from"][1]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], "front");
    assert_eq!(rule["ports"][0]["port"], 8000);
}
