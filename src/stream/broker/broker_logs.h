#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "forebay/result.h"
#include "stream/broker/kafka_address.h"
#include "stream/broker/nats_address.h"
#include "stream/broker/redis_address.h"
#include "stream/record_format.h"
#include "stream/record_log.h"

namespace forebay {

// Logs of brokers. The client library of each is in a module of its own (src/brokers), which the
// first call loads. All three functions: from any thread; Unsupported, with the module's name and
// the way out, where the module or its library is missing.

/// Redis Streams, each a partition. Offsets are ids of entries. With format "fields" an entry's
/// fields are fields; else the payload is the value of its only field, or of that called `data`.
/// Asks no server.
Result<std::shared_ptr<const RecordLog>> redis_log(RedisAddress address, RecordFormat format);

/// A stream of NATS JetStream: one partition, whose offsets are the messages' sequence numbers;
/// keys are subjects. Asks no server.
Result<std::shared_ptr<const RecordLog>> nats_log(NatsAddress address, RecordFormat format);

/// A topic of a Kafka cluster, with the partitions that it has now, for which the cluster has to be
/// asked. One that is away is waited for, as readers do: the log says so after `tell_after`.
/// NotFound where there is no such topic, InvalidArgument where the cluster refuses, Cancelled
/// after a stop.
Result<std::shared_ptr<const RecordLog>> open_kafka_log(
    KafkaAddress address, RecordFormat format, std::stop_token stop,
    std::chrono::milliseconds tell_after = std::chrono::seconds(30));

}  // namespace forebay
