#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pipeline/keyed_stage.h"

namespace forebay {

/// An entry's key: what was kept at this place of the stored data with that identity.
Hash128 entry_key(const Hash128& place, const Hash128& identity);

/// The keys of a `.cache()`: what was made at one place of the stored bytes of a sample's object. Where a source learns the
/// versions of its objects only as they are read, the key is known once the version is, and question() asks for that where
/// something was made of the object before.
class ContentKeys final : public StageKeys {
 public:
  /// `place`: identity of the steps before. `fetches`: objects are read, and so their versions told.
  ContentKeys(std::shared_ptr<EntryCache> cache, std::shared_ptr<const Source> source, const Hash128& place,
              bool fetches)
      : cache_(std::move(cache)), source_(std::move(source)), versions_(source_->learned_versions()), place_(place),
        fetches_(fetches) {}

  std::optional<Identity> find(const BatchJob& batch, int64_t row) const override;
  std::optional<Identity> keep(const BatchJob& batch, int64_t row, std::optional<uint64_t> version) const override;
  std::optional<Hash128> flight(const BatchJob& batch, int64_t row) const override;
  bool peers_know(const Identity& entry) const override;
  bool learns_versions() const override { return versions_ != nullptr && fetches_; }
  std::optional<KeyQuestion> question(const BatchJob& batch, int64_t row) const override;
  void kept(const BatchJob& batch, int64_t row, const Identity& entry) const override;

 private:
  std::optional<Identity> key_of(int64_t id) const;

  const std::shared_ptr<EntryCache> cache_;
  const std::shared_ptr<const Source> source_;
  const LearnedVersions* const versions_;  // the source's; null where versions are known from the start
  const Hash128 place_;
  const bool fetches_;
};

}  // namespace forebay
