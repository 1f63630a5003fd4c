#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pipeline/keyed_stage.h"

namespace forebay {

/// Key of a cache entry, from the identity of the steps before the cache and that of the stored
/// data.
Hash128 entry_key(const Hash128& steps_identity, const Hash128& identity);

/// The keys of a `.cache()`. They follow from the content of a sample's object and the steps before
/// the cache. Some sources learn the version of an object only by reading it, and the key is known
/// after that. If an entry of an earlier run or of a peer may exist for such an object,
/// version_query() returns a read of the version alone. Immutable; the source has the learned
/// versions.
class ContentKeys final : public StageKeys {
 public:
  /// `steps_identity`: identity of the steps before. `fetches`: the plan reads objects, which tells
  /// their versions.
  ContentKeys(std::shared_ptr<EntryCache> cache, std::shared_ptr<const Source> source, const Hash128& steps_identity,
              bool fetches)
      : cache_(std::move(cache)), source_(std::move(source)), versions_(source_->learned_versions()),
        steps_identity_(steps_identity), fetches_(fetches) {}

  std::optional<Identity> lookup_key(const BatchJob& batch, int64_t row) const override;
  std::optional<Identity> store_key(const BatchJob& batch, int64_t row, std::optional<uint64_t> version) const override;
  std::optional<Hash128> flight_key(const BatchJob& batch, int64_t row) const override;
  bool peers_know(const Identity& entry) const override;
  bool learns_versions() const override { return versions_ != nullptr && fetches_; }
  std::optional<VersionQuery> version_query(const BatchJob& batch, int64_t row) const override;
  void on_stored(const BatchJob& batch, int64_t row, const Identity& entry) const override;

 private:
  std::optional<Identity> key_of(int64_t id) const;

  const std::shared_ptr<EntryCache> cache_;
  const std::shared_ptr<const Source> source_;
  const LearnedVersions* const versions_;  // null if the source knows versions from the start
  const Hash128 steps_identity_;
  const bool fetches_;
};

}  // namespace forebay
