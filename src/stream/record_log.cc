#include "stream/record_log.h"

namespace forebay {

uint64_t LogRecord::bytes() const {
  uint64_t bytes = sizeof(LogRecord) + offset.size() + key.size() + payload.size();
  if (made) {
    for (const Value& value : *made) bytes += sizeof(Value) + value.tensor.nbytes() + value.bytes.size();
  }
  return bytes;
}

}  // namespace forebay
