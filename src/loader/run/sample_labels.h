#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/source.h"
#include "loader/samples/sample_classes.h"

namespace forebay {

/// Classes of samples for a replay buffer. They come from a field that the source knows without a
/// read, or from a pass over all samples. Without either, all samples have class 0.
class SampleLabels {
 public:
  SampleLabels() = default;
  /// `field` is its name, or empty for none. With `user_code`, the source is user code, whose
  /// fields are unknown in advance. InvalidArgument if the field cannot determine classes.
  static Result<SampleLabels> of_field(const std::string& field, const Schema& schema, bool user_code);
  static SampleLabels of_classes(std::shared_ptr<const SampleClasses> classes);
  /// Returns `field` if a pass over the source must read it, as for tables. Otherwise returns "".
  /// InvalidArgument if the field cannot determine classes.
  static Result<std::string> field_to_read(const std::string& field, const Source& source);

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
