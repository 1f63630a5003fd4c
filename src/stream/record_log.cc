#include "stream/record_log.h"

#include <algorithm>

namespace forebay {

uint64_t LogRecord::bytes() const {
  return sizeof(LogRecord) + offset.size() + key.size() + payload.size() + external_bytes;
}

std::vector<std::vector<size_t>> RecordLog::readers() const {
  const size_t each = std::max<size_t>(1, partitions_per_reader());
  std::vector<std::vector<size_t>> readers((partitions().size() + each - 1) / each);
  for (size_t p = 0; p < partitions().size(); ++p) readers[p / each].push_back(p);
  return readers;
}

LogRecord LogRecord::deep_copy() const {
  LogRecord copy = *this;
  if (payload.empty()) return copy;  // its owner may report the release to a program
  copy.payload = Buffer::allocate(payload.size());
  std::copy(payload.span().begin(), payload.span().end(), copy.payload.data());
  return copy;
}

}  // namespace forebay
