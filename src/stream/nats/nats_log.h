#pragma once

#include <memory>

#include "stream/nats/nats_address.h"
#include "stream/record_format.h"
#include "stream/record_log.h"

namespace forebay {

/// A stream of NATS JetStream: one partition, whose offsets are the messages' sequence numbers; keys are subjects. Asks no server.
Result<std::shared_ptr<const RecordLog>> nats_log(NatsAddress address, RecordFormat format);

}  // namespace forebay
