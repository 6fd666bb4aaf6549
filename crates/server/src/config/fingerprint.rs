//! A short digest of the catalogue, to detect nodes that serve different ones.
//!
//! It covers models, aliases, prices and flavors, and no secret. Paths count as written in the file, so that nodes with the same
//! file in different folders agree.

use domain::SecretHash;
use domain::alias::Alias;
use domain::model::{Flavor, Model, Serving};
use std::fmt::Write;
use std::path::Path;

const SHOWN_LEN: usize = 16;

pub(super) fn of(models: &[Model], aliases: &[Alias], folder: &Path) -> String {
    let mut canonical = String::new();
    for model in models {
        describe_model(&mut canonical, model, folder);
    }
    for Alias { name, model } in aliases {
        line(&mut canonical, format_args!("alias {name} {model}"));
    }
    shorten(&canonical)
}

/// The digest of a catalogue that consists of the one with the digest `base`, or of none, and of these models and
/// aliases. Without them it is `base`, so that an empty store changes nothing.
pub(super) fn extend(base: &str, models: &[Model], aliases: &[Alias]) -> String {
    if models.is_empty() && aliases.is_empty() && !base.is_empty() {
        return base.to_owned();
    }
    shorten(&format!("{base} {}", of(models, aliases, Path::new(""))))
}

fn shorten(canonical: &str) -> String {
    let mut digest = SecretHash::of(canonical).to_hex();
    digest.truncate(SHOWN_LEN);
    digest
}

/// Texts are written with `{:?}`, so no value can imitate another line.
fn describe_model(text: &mut String, model: &Model, folder: &Path) {
    let Model {
        id,
        name,
        modality,
        context_length,
        price,
        optimized,
        share_prefix_cache,
        failover,
        chat,
        rules,
        serving,
        flavors,
    } = model;
    line(
        text,
        format_args!(
            "model {id} {name:?} {} {context_length} {optimized} {share_prefix_cache} {failover}",
            modality.as_str()
        ),
    );
    let (input, cached, output) = (price.input_per_1m, price.cached_input_per_1m, price.output_per_1m);
    line(text, format_args!("price {input} {cached} {output}"));
    line(text, format_args!("rules {} {:?}", rules.media_urls, rules.refused_members));
    line(text, format_args!("chat {:?} {}", chat.thinking, chat.merge_system));
    match serving {
        Serving::Upstreams(upstreams) => {
            for upstream in upstreams {
                let (url, name, usage) = (&upstream.url, &upstream.model, upstream.continuous_usage);
                let (cap, health) = (upstream.max_in_flight, &upstream.health_path);
                let engine = upstream.engine;
                line(text, format_args!("upstream {url:?} {name:?} {cap:?} {health:?} {usage} {engine:?}"));
                if !upstream.native.is_empty() {
                    line(text, format_args!("native {:?}", upstream.native));
                }
            }
        }
        Serving::Engine(pool) => {
            let flavor = pool.flavor.as_ref().map(|flavor| flavor.name.as_str());
            line(text, format_args!("engine {:?} {} {flavor:?}", as_written(&pool.weights, folder), pool.replicas));
            if let Some(parallel) = pool.parallel {
                line(text, format_args!("parallel {parallel}"));
            }
        }
    }
    for flavor in flavors {
        describe_flavor(text, flavor, folder);
    }
}

fn describe_flavor(text: &mut String, flavor: &Flavor, folder: &Path) {
    let Flavor { name, gpu_type, gpu_count, precision, launch, price_per_gpu_hour, weights, .. } = flavor;
    let weights = weights.as_deref().map(|path| as_written(path, folder));
    let (target, max_len) = (flavor.default_target.map(|target| target.to_string()), flavor.max_len);
    line(
        text,
        format_args!(
            "flavor {name:?} {:?} {gpu_count} {precision:?} {launch:?} {price_per_gpu_hour}",
            gpu_type.as_str()
        ),
    );
    line(text, format_args!("shape {weights:?} {target:?} {max_len:?} {:?}", flavor.prefill_target));
    line(text, format_args!("run by {} {:?}", flavor.driver.as_str(), flavor.image));
}

fn as_written<'a>(path: &'a str, folder: &Path) -> &'a Path {
    let path = Path::new(path);
    path.strip_prefix(folder).unwrap_or(path)
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("a String takes every write");
}
