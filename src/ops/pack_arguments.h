#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/definition/args.h"
#include "pipeline/block_rows.h"
#include "plan/packing.h"

namespace forebay {

/// A field of blocks, by the name of the packed field of which it is made.
struct NamedBlockField {
  std::string from;
  BlockField field;  ///< without `output`
};

/// The arguments of a `.pack()`. The getters after fields() require arguments in which
/// pack_argument_problems() finds none.
class PackArguments {
 public:
  explicit PackArguments(const Args& args) : args_(args) {}

  /// The packed fields: the main one, which `field` names, comes first. Never empty. The arguments
  /// may be unchecked.
  std::vector<std::string> fields() const;
  /// The fields of blocks: the packed ones, `labels` if they are made, segments and positions. The
  /// arguments may be unchecked.
  std::vector<NamedBlockField> block_fields() const;
  std::optional<SegmentEnds> segment_ends() const;
  int64_t length() const;
  /// The fields that tell what a row costs of further budgets, with the most of a block. The
  /// arguments may be unchecked.
  std::vector<std::pair<std::string, int64_t>> limits() const;
  PackingOptions packing() const;
  /// True if an element is appended to each sequence.
  bool appends() const { return args_.has("eos"); }
  /// True if a sequence that is longer than a block is an error.
  bool refuses_long() const { return args_.text("too_long") == "error"; }

 private:
  const Args& args_;
};

/// Adds the problems of the arguments themselves. They have the right types.
void check_pack_arguments(const Args& args, Problems& problems);

}  // namespace forebay
