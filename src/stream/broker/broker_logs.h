#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "forebay/result.h"
#include "stream/broker/kafka_address.h"
#include "stream/broker/nats_address.h"
#include "stream/broker/redis_address.h"
#include "stream/record_format.h"
#include "stream/record_log.h"

namespace forebay {

// Logs of brokers. The client library of each broker is in a module of its own (src/brokers), which
// the first call loads. All functions may be called from any thread. They return Unsupported,
// with the module's name and what to install, if the module or its library is missing.

/// Makes a log of Redis Streams, each of which is a partition. Offsets are ids of entries. With
/// format "fields" the fields of an entry are the record's fields. Otherwise the payload is the
/// value of the entry's only field, or of its field `data`. This call contacts no server.
Result<std::shared_ptr<const RecordLog>> redis_log(RedisAddress address, RecordFormat format);

/// Makes a log of a stream of NATS JetStream. Its one partition has the messages' sequence numbers
/// as offsets and their subjects as keys. This call contacts no server.
Result<std::shared_ptr<const RecordLog>> nats_log(NatsAddress address, RecordFormat format);

/// Opens a log of a topic of a Kafka cluster. Asks the cluster for the partitions that the topic
/// has now. Waits for an unavailable cluster, as readers do, and logs a warning after `tell_after`.
/// Errors: NotFound if there is no such topic, InvalidArgument if the cluster refuses access,
/// Cancelled after a stop.
Result<std::shared_ptr<const RecordLog>> open_kafka_log(
    KafkaAddress address, RecordFormat format, std::stop_token stop,
    std::chrono::milliseconds tell_after = std::chrono::seconds(30));

/// The client library of a broker ("redis", "nats" or "kafka") and its version.
Result<std::string> broker_client(const std::string& broker);

}  // namespace forebay
