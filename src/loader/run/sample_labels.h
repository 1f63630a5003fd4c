#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/source.h"
#include "loader/samples/sample_classes.h"
#include "pipeline/catalog.h"
#include "pipeline/description.h"

namespace forebay {

/// The fields that the source of a pipeline gives. Those of a zip have gone through the steps of its
/// parts, and have the names that they have behind it.
class SourceFields {
 public:
  SourceFields(const Description& branch, const Source& source);

  const Source& source() const { return source_; }
  const Schema& schema() const { return inference_.schemas[steps_ - 1]; }
  /// The steps of the branch that make up the source.
  size_t steps() const { return steps_; }
  /// The field of source() that `name` is, if its values are known without a read.
  std::optional<size_t> find(const std::string& name) const;
  /// True if user code makes the samples, whose fields are unknown in advance.
  bool are_of_user_code() const;

 private:
  const Description branch_;
  const Source& source_;
  const size_t steps_;
  const Inference inference_;
};

/// Classes of samples for a replay buffer. They come from a field that the source knows without a
/// read, or from a pass over all samples. Without either, all samples have class 0.
class SampleLabels {
 public:
  SampleLabels() = default;
  /// `field` is its name, or empty for none. `fields`: those that the source gives. InvalidArgument
  /// if the field cannot determine classes.
  static Result<SampleLabels> of_field(const std::string& field, const SourceFields& fields);
  static SampleLabels of_classes(std::shared_ptr<const SampleClasses> classes);
  /// Returns `field` if a pass over the source must read it, as for tables. Otherwise returns "".
  /// InvalidArgument if the field cannot determine classes.
  static Result<std::string> field_to_read(const std::string& field, const SourceFields& fields);

  /// Classes of samples of a data set, by their indices in the selection and their ids.
  Result<std::vector<int64_t>> of(const Source& source, std::span<const int64_t> indices,
                                  std::span<const int64_t> ids) const;
  /// Class of a record of a stream. A damaged record has a class of its own; its error is reported
  /// when the record is due.
  Result<int64_t> of_record(const Source& source, int64_t number) const;

 private:
  Result<int64_t> label(Record& record) const;
  bool gathers(const Source& source) const;

  std::optional<size_t> field_;
  std::string name_;
  std::shared_ptr<const SampleClasses> classes_;
};

}  // namespace forebay
