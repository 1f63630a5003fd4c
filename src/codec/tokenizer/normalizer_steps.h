#pragma once

#include <string>

#include "codec/tokenizer/charsmap.h"
#include "codec/tokenizer/normalizer.h"

/// The single normalization steps. All texts are UTF-8. `first_char_bytes` is updated as the alignments
/// of `tokenizers` are.
namespace forebay::normalizer_steps {

/// The options of BertNormalizer.
struct BertOptions {
  bool clean = true, chinese = true, accents = true, lowercase = true;
};
void normalize_bert(NormalizedText& text, const BertOptions& what);
void lowercase(NormalizedText& text);
void strip_accents(NormalizedText& text);
void strip(NormalizedText& text, bool left, bool right);
void normalize_unicode(NormalizedText& text, bool compatible, bool composed);
void normalize_nmt(NormalizedText& text);
void apply_charsmap(NormalizedText& text, const Charsmap& map);
void prepend(NormalizedText& text, const std::string& what);
void replace(NormalizedText& text, const std::string& what, const std::string& by);
/// Replaces each run of at least `least` times `what` by `by`.
void replace_runs(NormalizedText& text, const std::string& what, size_t least, const std::string& by);

}  // namespace forebay::normalizer_steps
