#pragma once

#include <string>

#include "codec/tokenizer/charsmap.h"
#include "codec/tokenizer/normalizer.h"

/// What normalizers do, one by one. All texts are UTF-8; `first_bytes` goes along as the package's alignments do.
namespace forebay::normalize_step {

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
/// Runs of at least `least` of `what`, of any length.
void replace_runs(NormalText& text, const std::string& what, size_t least, const std::string& by);

}  // namespace forebay::normalize_step
