#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/source.h"
#include "loader/samples/sample_classes.h"

namespace forebay {

/// What tells the classes of samples for a replay: a field that the source knows of them without reading, classes that a
/// pass over all samples has read, or nothing, and then all are of class 0.
class SampleLabels {
 public:
  SampleLabels() = default;
  /// `field`: its name; empty for none. `user_code`: the source is made of the user's code, which says nothing before.
  /// InvalidArgument where that field cannot tell classes.
  static Result<SampleLabels> of_field(const std::string& field, const Schema& schema, bool user_code);
  static SampleLabels of_classes(std::shared_ptr<const SampleClasses> classes);
  /// The field `field` where a pass over the source has to read it, as of tables; empty where none has.
  /// InvalidArgument where it cannot tell classes.
  static Result<std::string> field_to_read(const std::string& field, const Source& source);

  /// Of samples of a data set: by their numbers in the selection, and their ids.
  Result<std::vector<int64_t>> of(const Source& source, std::span<const int64_t> indices,
                                  std::span<const int64_t> ids) const;
  /// Of a record of a stream. A damaged one is told when it is its turn; it is of a class that no others have.
  Result<int64_t> of_record(const Source& source, int64_t number) const;

 private:
  Result<int64_t> label(const Record& record) const;
  bool gathers(const Source& source) const;

  std::optional<size_t> field_;
  std::string name_;
  std::shared_ptr<const SampleClasses> classes_;
};

}  // namespace forebay
