#pragma once

#include <string>

#include "codec/tokenizer/charsmap.h"
#include "codec/tokenizer/normalizer.h"

/// The single normalization steps. All texts are UTF-8. `first_bytes` is updated as the alignments
/// of `tokenizers` are.
namespace forebay::normalize_step {

/// The options of BertNormalizer.
struct Bert {
  bool clean = true, chinese = true, accents = true, lowercase = true;
};
void bert(NormalText& text, const Bert& what);
void lowercase(NormalText& text);
void strip_accents(NormalText& text);
void strip(NormalText& text, bool left, bool right);
void unicode_form(NormalText& text, bool compatible, bool composed);
void nmt(NormalText& text);
void precompiled(NormalText& text, const Charsmap& map);
void prepend(NormalText& text, const std::string& what);
void replace(NormalText& text, const std::string& what, const std::string& by);
/// Replaces each run of at least `least` times `what` by `by`.
void replace_runs(NormalText& text, const std::string& what, size_t least, const std::string& by);

}  // namespace forebay::normalize_step
