#include "stream/record_log.h"

#include <algorithm>

namespace forebay {

uint64_t LogRecord::bytes() const {
  return sizeof(LogRecord) + offset.size() + key.size() + payload.size() + elsewhere;
}

LogRecord LogRecord::alone() const {
  LogRecord copy = *this;
  if (payload.empty()) return copy;  // its owner may be what tells a program that it has gone
  copy.payload = Buffer::allocate(payload.size());
  std::copy(payload.span().begin(), payload.span().end(), copy.payload.data());
  return copy;
}

}  // namespace forebay
