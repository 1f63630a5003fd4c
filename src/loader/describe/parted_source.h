#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/source.h"

namespace forebay {

/// The opened sources of a pipeline with parts, one for each branch. It is neither a SampleSource
/// nor a ChunkSource: a run reads the source of each branch by itself. Its samples are those of all
/// branches, one after the other. Immutable.
class PartedSource final : public Source {
 public:
  /// A part with its opened source; a PartedSource gives the branches of a part that has parts.
  using Part = std::pair<std::string, std::shared_ptr<const Source>>;
  explicit PartedSource(std::vector<Part> parts);

  /// In the order of branches_of(). Parts within parts are resolved.
  const std::vector<std::shared_ptr<const Source>>& branch_sources() const { return branches_; }

  /// The same with another source for one branch, which has the same schema and version.
  std::shared_ptr<const PartedSource> with_branch(size_t branch, std::shared_ptr<const Source> source) const;

  /// That of all branches if it is the same; otherwise open-ended.
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return begins_.back(); }
  /// Made of the names and versions of the parts, in order.
  Hash128 version() const override { return version_; }
  uint64_t index_bytes() const override;
  std::string key(int64_t id) const override;
  std::optional<Identity> identity(int64_t id) const override;
  Status check_intact() const override;

 private:
  // The branch that a sample is in, and its id there.
  std::pair<const Source*, int64_t> find(int64_t id) const;

  std::vector<std::shared_ptr<const Source>> branches_;
  std::vector<int64_t> begins_;  // id of the first sample of each branch, and the size
  Hash128 version_;
  Schema schema_;
};

/// Returns the source as one with parts, or null.
const PartedSource* as_parted(const Source& source);

}  // namespace forebay
