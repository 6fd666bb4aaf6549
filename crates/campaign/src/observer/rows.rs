//! Rows of the store at the end, and the invoices made from them.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::history::{Invoice, Record, Recorder};

/// One record per line of JSON.
const TABLES: [&str; 5] = [
    "SELECT json_build_object('record', 'event', 'request', request_id, 'workspace', workspace_id, 'actor', actor, 'model', model,
        'tokens', json_build_object('prompt', prompt_tokens, 'completion', completion_tokens, 'cached', cached_tokens),
        'certainty', certainty, 'code', code, 'cost', cost, 'started_at', started_at,
        'month', to_char(to_timestamp(started_at / 1000) AT TIME ZONE 'UTC', 'YYYYMM')::bigint)
     FROM usage_events",
    "SELECT json_build_object('record', 'sum', 'period', period, 'workspace', workspace_id, 'starts_at', starts_at, 'model', model,
        'actor', actor, 'requests', requests, 'cost', cost,
        'tokens', json_build_object('prompt', prompt_tokens, 'completion', completion_tokens, 'cached', cached_tokens))
     FROM (SELECT 'hour' AS period, * FROM usage_hours UNION ALL SELECT 'day', * FROM usage_days) s",
    "SELECT json_build_object('record', 'quota_month', 'workspace', workspace_id, 'month', month, 'used', used) FROM quota_months",
    "SELECT json_build_object('record', 'hold', 'replica', h.replica_id, 'workspace', h.workspace_id, 'gpu_count', h.gpu_count,
        'started_at', h.started_at, 'ended_at', h.ended_at, 'billable', h.billable <> 0, 'gpus',
        (SELECT coalesce(json_agg(g.node || '/' || g.gpu_uuid), '[]') FROM hold_gpus g WHERE g.replica_id = h.replica_id))
     FROM replica_holds h",
    "SELECT json_build_object('record', 'key', 'id', id, 'revoked', revoked_at IS NOT NULL) FROM api_keys",
];

/// Records all of them.
pub(crate) async fn read_rows(cluster: &Cluster, recorder: &Recorder) -> anyhow::Result<()> {
    let mut months = BTreeSet::new();
    for sql in TABLES {
        for line in cluster.query(sql).await?.lines() {
            let record: Record = serde_json::from_str(line).with_context(|| format!("unexpected row: {line}"))?;
            if let Record::Event(event) = &record {
                months.insert((event.workspace.clone(), event.month));
            }
            recorder.add(&record)?;
        }
    }
    // Endpoints are billed in every month in which they held a GPU.
    let held = cluster
        .query(
            "SELECT DISTINCT workspace_id || ' ' || to_char(to_timestamp(at / 1000) AT TIME ZONE 'UTC', 'YYYYMM')
             FROM (SELECT workspace_id, started_at AS at FROM replica_holds UNION SELECT workspace_id, ended_at FROM replica_holds) h
             WHERE at IS NOT NULL",
        )
        .await?;
    for line in held.lines() {
        let (workspace, month) = line.split_once(' ').context("a row without a month")?;
        months.insert((workspace.to_owned(), month.parse()?));
    }
    for (workspace, month) in months {
        let line = format!("usage invoice --workspace {workspace} --month {}-{:02}", month / 100, month % 100);
        let invoice = invoice(workspace, month, &cluster.admin(&line).await?)?;
        recorder.add(&Record::Invoice(invoice))?;
    }
    Ok(())
}

fn invoice(workspace: String, month: u64, shown: &Value) -> anyhow::Result<Invoice> {
    let lines = shown["dedicated"].as_array().context("an invoice without endpoints")?;
    let gpu_hours = lines.iter().map(|line| billionths(&line["gpuHours"])).collect::<anyhow::Result<_>>()?;
    Ok(Invoice { workspace, month, serverless: billionths(&shown["serverlessUsd"])?, gpu_hours })
}

/// A decimal text with at most nine digits after its point.
fn billionths(value: &Value) -> anyhow::Result<i64> {
    let text = value.as_str().with_context(|| format!("{value} is not text"))?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    ensure!(fraction.len() <= 9, "{text} has more than nine digits after its point");
    let fraction: i64 = format!("{fraction:0<9}").parse()?;
    let whole: i64 = whole.parse()?;
    let sign = if text.starts_with('-') { -1 } else { 1 };
    Ok(whole * 1_000_000_000 + sign * fraction)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_read_exactly() {
        let read = |text: &str| billionths(&json!(text)).unwrap();
        assert_eq!((read("0.10"), read("12.000000001"), read("3")), (100_000_000, 12_000_000_001, 3_000_000_000));
        assert_eq!(read("-0.5"), -500_000_000);
        assert!(billionths(&json!(1)).is_err() && billionths(&json!("0.0000000001")).is_err());
    }

    #[test]
    fn an_invoice_is_read_as_the_gateway_prints_it() {
        let shown = json!({"serverlessUsd": "0.000094", "dedicated": [{"gpuHours": "0.5"}]});
        let expected =
            Invoice { workspace: "ws".into(), month: 202_611, serverless: 94_000, gpu_hours: vec![500_000_000] };
        assert_eq!(invoice("ws".into(), 202_611, &shown).unwrap(), expected);
    }
}
