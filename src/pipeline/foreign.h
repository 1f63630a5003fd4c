#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/record.h"
#include "base/schema.h"
#include "forebay/batch.h"
#include "plan/random.h"

namespace forebay {

/// A call of user code outside the engine (Python). A thread of user code takes it from the run and
/// runs the function, since the engine's threads never touch another language's interpreter. That
/// thread answers with exactly one of finish() and fail(). A call that is destroyed without an
/// answer counts as failed. An answer after the loader was closed is ignored.
class ForeignCall {
 public:
  virtual ~ForeignCall() = default;
  /// Number of the step in the pipeline (see Description::step_count()). It decides which function
  /// to call.
  virtual size_t step() const = 0;
  /// Key of the random numbers that the function may draw.
  virtual const SampleKey& key() const = 0;
  /// Number of this step among those that draw random numbers.
  virtual uint32_t random_index() const = 0;
  /// Id of the sample, or of the first sample of the batch; -1 if the batch has none.
  virtual int64_t sample() const = 0;
  /// Key of that sample, for messages.
  virtual std::string sample_name() const = 0;
  virtual void fail(Status status) = 0;
  /// For the run: abandons the call. Its destructor must not answer it any more.
  virtual void abandon() = 0;
};

/// A call for one sample.
class SampleCall : public ForeignCall {
 public:
  /// For a call of the user's data set: the number of the sample in it. That is key().id unless the
  /// data set is a part of a zip.
  virtual int64_t item() const { return key().id; }
  /// The input fields, computed and readable until the answer. Empty for a data set.
  virtual const Schema& schema() const = 0;
  virtual const Record& record() const = 0;

  /// Answers with fields and their names: tensors, bytes, text and lists of them. They own their
  /// memory.
  virtual void finish(Schema schema, Record record) = 0;
};

/// The fields of one sample by name.
using NamedValues = std::vector<std::pair<std::string, Value>>;

/// A call for a whole batch. Its function gets the fields of the batch and answers with fields, or
/// gets the samples and answers with an object (see BatchInput).
class BatchCall : public ForeignCall {
 public:
  /// The batch. It has no fields if the function gets samples. Fields may be changed in place:
  /// their memory belongs to this batch.
  virtual const Batch& batch() const = 0;
  /// The samples, which own their memory. Null if the function gets the fields.
  virtual const std::vector<NamedValues>* samples() const = 0;

  /// Answers with fields, all of `rows` rows.
  virtual void finish(std::vector<BatchField> fields, int64_t rows) = 0;
  /// Answers with the object that is delivered in place of fields.
  virtual void finish(std::shared_ptr<void> object) = 0;
};

}  // namespace forebay
