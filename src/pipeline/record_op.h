#pragma once

#include "base/record.h"
#include "plan/random.h"

namespace forebay {

class WorkMemory;

/// The sample that an operator is working on. Everything random follows from `key` alone.
struct SampleContext {
  SampleKey key;  ///< seed, epoch, id, occurrence
  WorkMemory* memory = nullptr;
};

/// An operator on single samples. Any number of compute threads may run it at once.
class RecordOp {
 public:
  virtual ~RecordOp() = default;
  /// Changes the record from the schema before to the schema after. An error leaves the record
  /// unusable.
  virtual Status apply(Record& record, const SampleContext& context) const = 0;
};

}  // namespace forebay
