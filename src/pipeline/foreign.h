#pragma once

#include <memory>
#include <string>

#include "base/record.h"
#include "base/schema.h"
#include "plan/random.h"

namespace forebay {

/// A call that user code outside the engine (Python) has to make, on a thread of its own: the engine's threads never touch
/// another language's interpreter. Exactly one of finish() and fail(); a call that is dropped without either counts as failed.
/// May be answered after the loader closed; the answer is then ignored.
class ForeignCall {
 public:
  virtual ~ForeignCall() = default;
  /// Index of the step in the pipeline's description (0 is the source): says which function to call.
  virtual size_t step() const = 0;
  virtual const SampleKey& key() const = 0;
  /// Operation number for random numbers of this step.
  virtual uint32_t random_index() const = 0;
  /// Called "sample key" in messages.
  virtual std::string sample_name() const = 0;
  /// The fields that go in (empty for a source: then key().id says which sample), materialised, readable until the answer.
  virtual const Schema& schema() const = 0;
  virtual const Record& record() const = 0;

  /// The fields that came out, with their names (tensors, bytes, text and lists of them, that own their memory).
  virtual void finish(Schema schema, Record record) = 0;
  virtual void fail(Status status) = 0;
};

}  // namespace forebay
