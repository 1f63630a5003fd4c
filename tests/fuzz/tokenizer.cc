// A tokenizer.json that somebody else wrote, and a text: the first two bytes say how long the text
// at the end is. Any file is a tokenizer or an error, and a tokenizer gives ids of 31 bits, the
// same each time, as many as were allowed, or says that the text grows too long.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "codec/tokenizer/text_tokenizer.h"

using namespace forebay;

static void require(bool holds) {
  if (!holds) std::abort();
}

static std::vector<int32_t> encoded(const TextTokenizer& tokenizer, std::string_view text,
                                    const TextTokenizer::EncodeOptions& how) {
  std::vector<int32_t> ids;
  const Status status = tokenizer.encode(text, how, ids);
  require(status.ok() || (status.code() == Code::kUnsupported && ids.empty()));
  for (const int32_t id : ids) require(id >= 0);
  return ids;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t text_bytes = std::min<size_t>(data[0] | (data[1] & 0x0f) << 8, size - 2);
  const std::span<const uint8_t> file(data + 2, size - 2 - text_bytes), last(data + size - text_bytes, text_bytes);
  const auto tokenizer = TextTokenizer::parse(file);
  if (!tokenizer.ok()) {
    const Code code = tokenizer.status().code();
    // NotFound is for a pointer of Git LFS or git-annex in the file's place.
    require(code == Code::kUnsupported || code == Code::kCorrupt || code == Code::kNotFound);
    return 0;
  }
  constexpr std::string_view kText =
      "It's a t\u00e9st \u00a8x \U0001f469\u200d\U0001f469 \u4e00 \uac00\u0301\r\n  ab  ";
  const bool readable = is_utf8(last);
  for (const std::string_view text :
       {kText, readable ? std::string_view(reinterpret_cast<const char*>(last.data()), last.size()) : ""}) {
    const auto all = encoded(**tokenizer, text, {});
    require(all == encoded(**tokenizer, text, {}));
    const size_t most = (*tokenizer)->special_id_count() + 2;
    require(encoded(**tokenizer, text, {.most = most}).size() <= most);
    (void)encoded(**tokenizer, text, {.special = false});
  }
  return 0;
}
