#pragma once

#include <string>

#include "codec/tokenizer/charsmap.h"
#include "codec/tokenizer/normalizer.h"

/// The steps of a Normalizer. Each changes a UTF-8 text in place, as the step of that name in
/// `tokenizers` does, and updates `first_char_bytes` as that package updates its alignments.
/// Functions without state; any thread may call them.
namespace forebay::normalizer_steps {

/// The options of BertNormalizer, with the names of the file.
struct BertOptions {
  bool clean_text = true, handle_chinese_chars = true, strip_accents = true, lowercase = true;
};
void normalize_bert(NormalizedText& text, const BertOptions& options);
void lowercase(NormalizedText& text);
void strip_accents(NormalizedText& text);
/// Removes blanks from the ends of the text.
void strip(NormalizedText& text, bool left, bool right);
/// Converts to a Unicode normalization form: NFKC and NFKD are compatible, NFC and NFKC composed.
void normalize_unicode(NormalizedText& text, bool compatible, bool composed);
/// Removes control characters and replaces unusual blanks, as SentencePiece's NMT rules do.
void normalize_nmt(NormalizedText& text);
/// Replaces characters by a SentencePiece table ("Precompiled").
void apply_charsmap(NormalizedText& text, const Charsmap& map);
/// Inserts `prefix` before a text that is not empty.
void prepend(NormalizedText& text, const std::string& prefix);
/// Replaces each occurrence of `pattern`.
void replace(NormalizedText& text, const std::string& pattern, const std::string& replacement);
/// Replaces each run of at least `min_count` consecutive occurrences of `pattern`.
void replace_runs(NormalizedText& text, const std::string& pattern, size_t min_count, const std::string& replacement);

}  // namespace forebay::normalizer_steps
