#include "forebay/string_list.h"

#include <limits>

namespace forebay {

bool StringList::is_valid(std::span<const uint8_t> run) {
  if (run.empty()) return true;
  if (run.size() < sizeof(uint32_t) || run.size() > std::numeric_limits<uint32_t>::max()) return false;
  const StringList list(run);
  // The first offset is the end of the offsets, and so gives their number: strings + 1.
  const size_t begin = list.offset(0);
  if (begin < sizeof(uint32_t) || begin % sizeof(uint32_t) != 0 || begin > run.size()) return false;
  size_t before = begin;
  for (size_t i = 1; i < begin / sizeof(uint32_t); ++i) {
    const size_t offset = list.offset(i);
    if (offset < before) return false;
    before = offset;
  }
  // The end must match exactly. So a list has one form, and equal lists have equal bytes. (Only the
  // empty list has two: no bytes, and a single offset.)
  return before == run.size();
}

Result<Tensor> StringList::pack(std::span<const std::string_view> strings) {
  uint64_t bytes = 0;
  for (const std::string_view string : strings) bytes += string.size();
  const uint64_t size = run_bytes(strings.size(), bytes);
  if (size > std::numeric_limits<uint32_t>::max())
    return Status(Code::kUnsupported, "a list of strings of 4 GiB or more; cut it into several rows");
  Tensor run = Tensor::allocate(DType::kUint8, Shape{static_cast<int64_t>(size)});
  uint8_t* offsets = run.buffer.data();
  auto at = static_cast<uint32_t>((strings.size() + 1) * sizeof(uint32_t));
  for (const std::string_view string : strings) {
    std::memcpy(offsets, &at, sizeof at);
    offsets += sizeof at;
    if (!string.empty()) std::memcpy(run.buffer.data() + at, string.data(), string.size());
    at += static_cast<uint32_t>(string.size());
  }
  std::memcpy(offsets, &at, sizeof at);
  return run;
}

}  // namespace forebay
