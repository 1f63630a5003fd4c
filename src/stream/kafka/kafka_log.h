#pragma once

#include <memory>
#include <stop_token>

#include "stream/kafka/kafka_client.h"
#include "stream/record_format.h"
#include "stream/record_log.h"

namespace forebay {

/// A topic of a Kafka cluster, with the partitions that it has now. Asks for these, for half a minute at most: Unavailable then, NotFound where there is no such topic.
Result<std::shared_ptr<const RecordLog>> open_kafka_log(KafkaAddress address, RecordFormat format,
                                                        std::stop_token stop);

}  // namespace forebay
