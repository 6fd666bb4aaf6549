use super::*;

#[test]
fn a_single_replica_may_be_evicted_and_of_several_one_at_a_time() {
    assert_eq!([0, 1, 2, 5].map(min_available), [None, None, Some(1), Some(4)]);
    let written = budget("ep-1", "forebay", "ep_1", 4);
    assert_eq!(written["spec"]["minAvailable"], 4);
    assert_eq!(written["spec"]["selector"]["matchLabels"]["forebay.dev/endpoint-id"], "ep_1");
}

#[test]
fn changed_budgets_are_written_and_those_of_deleted_endpoints_removed() {
    let existing: BTreeMap<String, u32> =
        [("ep-same", 2), ("ep-other", 1), ("ep-gone", 1), ("ep-one", 3)].map(|(n, l)| (n.to_owned(), l)).into();
    let targets: ReplicaTargets = [("ep_same", 3), ("ep_other", 5), ("ep_one", 1), ("ep_new", 2), ("ep_none", 0)]
        .map(|(name, replicas)| (name.to_owned(), replicas))
        .into();
    let write = |name: &str, endpoint: &str, minimum| BudgetChange {
        name: name.into(),
        minimum: Some((endpoint.to_owned(), minimum)),
    };
    let remove = |name: &str| BudgetChange { name: name.into(), minimum: None };
    assert_eq!(
        changes(&existing, &targets),
        [remove("ep-gone"), remove("ep-one"), write("ep-new", "ep_new", 1), write("ep-other", "ep_other", 4)]
    );
    assert_eq!(changes(&BTreeMap::new(), &ReplicaTargets::new()), []);
}

#[test]
fn known_policies_are_forgotten_after_a_while_and_by_a_new_leader() {
    let start = Instant::now();
    let fresh = |called_at| KnownPolicies {
        budgets: Some((BTreeMap::new(), start)),
        network: Some(start),
        called_at: Some(called_at),
        not_before: None,
    };
    let is_known = |mut known: KnownPolicies, now| {
        known.forget_outdated(now);
        (known.budgets.is_some(), known.network.is_some())
    };
    let after = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(is_known(fresh(after(298)), after(299)), (true, true));
    assert_eq!(is_known(fresh(after(299)), after(300)), (false, false), "others may have changed it");
    assert_eq!(is_known(fresh(after(0)), after(10)), (false, false), "another node may have led");
    assert_eq!(is_known(KnownPolicies::default(), start), (false, false));
}

#[test]
fn only_configured_callers_are_allowed() {
    let callers = Callers {
        pods: [("app".to_owned(), "gateway".to_owned())].into(),
        namespace: Some("front".into()),
        networks: vec!["10.1.0.0/16".into()],
    };
    let policy = ingress_policy("n", "forebay", 8000, &callers);
    let rule = &policy["spec"]["ingress"][0];
    assert_eq!(rule["from"][0]["ipBlock"]["cidr"], "10.1.0.0/16");
    assert_eq!(rule["from"][1]["podSelector"]["matchLabels"]["app"], "gateway");
    assert_eq!(rule["from"][1]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], "front");
    assert_eq!(rule["ports"][0]["port"], 8000);
}

#[test]
fn replicas_reach_dns_the_hub_and_named_networks_only() {
    let policy = egress_policy("n", "forebay", &Egress { public_https: true, networks: vec!["10.9.0.1/32".into()] });
    assert_eq!(policy["spec"]["policyTypes"], json!(["Egress"]));
    let [dns, hub, named] = &policy["spec"]["egress"].as_array().unwrap()[..] else { panic!("{policy}") };
    assert_eq!((&dns["ports"][0]["port"], &dns["to"]), (&json!(53), &Value::Null));
    assert_eq!(hub["ports"], json!([{"port": 443, "protocol": "TCP"}]));
    let except = hub["to"][0]["ipBlock"]["except"].as_array().unwrap();
    for private in ["10.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"] {
        assert!(except.contains(&json!(private)), "{private}");
    }
    assert_eq!(named["to"], json!([{"ipBlock": {"cidr": "10.9.0.1/32"}}]));
    let closed = egress_policy("n", "forebay", &Egress { public_https: false, networks: Vec::new() });
    assert_eq!(closed["spec"]["egress"].as_array().unwrap().len(), 1, "only DNS");
    serde_json::from_value::<NetworkPolicy>(policy).unwrap();
}
