#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "stream/kafka/kafka_client.h"
#include "stream/record_format.h"
#include "stream/record_log.h"

namespace forebay {

/// A topic of a Kafka cluster, with the partitions that it has now, for which the cluster has to be asked. One that is away is waited for, as readers do: the log
/// says so after `tell_after`. NotFound where there is no such topic, InvalidArgument where the cluster refuses, Cancelled after a stop.
Result<std::shared_ptr<const RecordLog>> open_kafka_log(
    KafkaAddress address, RecordFormat format, std::stop_token stop,
    std::chrono::milliseconds tell_after = std::chrono::seconds(30));

}  // namespace forebay
