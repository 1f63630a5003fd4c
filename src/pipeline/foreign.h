#pragma once

#include <memory>
#include <string>

#include "base/record.h"
#include "base/schema.h"
#include "plan/random.h"

namespace forebay {

/// A call of user code outside the engine (Python) for one sample. A thread of user code takes it
/// from the run and runs the function, since the engine's threads never touch another language's
/// interpreter. That thread answers with exactly one of finish() and fail(). A call that is
/// destroyed without an answer counts as failed. An answer after the loader was closed is ignored.
class ForeignCall {
 public:
  virtual ~ForeignCall() = default;
  /// Number of the step in the pipeline (see Description::step_count()). It decides which function
  /// to call.
  virtual size_t step() const = 0;
  virtual const SampleKey& key() const = 0;
  /// Number of this step among those that draw random numbers.
  virtual uint32_t random_index() const = 0;
  /// Key of the sample, for messages.
  virtual std::string sample_name() const = 0;
  /// The input fields, computed and readable until the answer. Empty for a source, which makes the
  /// sample key().id.
  virtual const Schema& schema() const = 0;
  virtual const Record& record() const = 0;

  /// Answers with fields and their names: tensors, bytes, text and lists of them. They own their
  /// memory.
  virtual void finish(Schema schema, Record record) = 0;
  virtual void fail(Status status) = 0;
};

}  // namespace forebay
