#pragma once

#include <memory>

#include "stream/record_format.h"
#include "stream/record_log.h"
#include "stream/redis/redis_address.h"

namespace forebay {

/// Redis Streams, each a partition. Offsets are ids of entries. With format "fields" an entry's fields are fields; else the payload is the value of its only field, or of that
/// called `data`. Asks no server.
Result<std::shared_ptr<const RecordLog>> redis_log(RedisAddress address, RecordFormat format);

}  // namespace forebay
