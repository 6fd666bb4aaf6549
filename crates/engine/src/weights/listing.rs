//! Selects the files of a hub repository that make up a model.

/// Optional files of a sentence model, in addition to its weights.
const SENTENCE_MODEL: [&str; 5] =
    ["config.json", "tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json", "sentence_bert_config.json"];
const SENTENCE_WEIGHTS: &str = "model.safetensors";
/// Maximum number of names in an error message.
const MAX_LISTED_NAMES: usize = 8;

/// The files to download: the only GGUF model of the repository, or a sentence model.
pub(super) fn files_to_fetch(names: &[String]) -> Result<Vec<String>, String> {
    let is_first = |name: &&String| name.ends_with(".gguf") && (!is_part(name) || name.contains("-00001-of-"));
    let models: Vec<&String> = names.iter().filter(is_first).collect();
    match models.as_slice() {
        [] if names.iter().any(|name| name == SENTENCE_WEIGHTS) => {
            let present = SENTENCE_MODEL.iter().filter(|file| names.iter().any(|name| name == *file));
            Ok(present.copied().chain([SENTENCE_WEIGHTS]).map(str::to_owned).collect())
        }
        [] => Err("it has neither a GGUF file nor model.safetensors".to_owned()),
        [only] => Ok(parts(only)),
        several => {
            let listed: Vec<&str> = several.iter().take(MAX_LISTED_NAMES).map(|name| name.as_str()).collect();
            Err(format!("it has several GGUF files; add the name of one: {}", listed.join(", ")))
        }
    }
}

/// All files of a split model, given one of them.
pub(super) fn parts(file: &str) -> Vec<String> {
    let Some((beginning, count)) = split_name(file) else { return vec![file.to_owned()] };
    (1..=count).map(|part| format!("{beginning}-{part:05}-of-{count:05}.gguf")).collect()
}

fn is_part(file: &str) -> bool {
    split_name(file).is_some()
}

/// Splits `name-00002-of-00003.gguf` into `name` and 3.
fn split_name(file: &str) -> Option<(&str, u32)> {
    let (rest, count) = file.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (beginning, number) = rest.rsplit_once('-')?;
    let five_digits = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    (five_digits(number) && five_digits(count)).then(|| Some((beginning, count.parse().ok()?)))?
}

#[cfg(test)]
mod tests {
    use super::{files_to_fetch, parts};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_split_model_has_all_its_parts() {
        assert_eq!(parts("a/m-00002-of-00003.gguf")[2], "a/m-00003-of-00003.gguf");
        assert_eq!(parts("m-2-of-3.gguf"), ["m-2-of-3.gguf"]);
        assert_eq!(parts("m.gguf"), ["m.gguf"]);
    }

    #[test]
    fn a_repository_with_several_models_is_rejected_with_their_names() {
        let split = names(&["README.md", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]);
        assert_eq!(files_to_fetch(&split), Ok(names(&["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"])));
        let sentence = names(&["onnx/model.onnx", "model.safetensors", "config.json", "tokenizer.json"]);
        assert_eq!(files_to_fetch(&sentence), Ok(names(&["config.json", "tokenizer.json", "model.safetensors"])));
        assert!(files_to_fetch(&names(&["a.gguf", "b.gguf"])).unwrap_err().contains("a.gguf, b.gguf"));
        assert!(files_to_fetch(&names(&["pytorch_model.bin"])).is_err());
    }
}
