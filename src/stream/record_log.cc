#include "stream/record_log.h"

namespace forebay {

uint64_t LogRecord::bytes() const {
  return sizeof(LogRecord) + offset.size() + key.size() + payload.size() + elsewhere;
}

}  // namespace forebay
