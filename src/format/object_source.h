#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/value_places.h"
#include "format/column.h"
#include "format/files/key_table.h"
#include "format/reported_versions.h"
#include "store/store.h"

namespace forebay {

/// Whether an ObjectSource knows the sizes of its objects in advance.
enum class ObjectSizes : uint8_t {
  kKnown,    ///< the key table has the sizes
  kUnknown,  ///< the key table has no sizes; a size is known once its object was read
};

/// Where an ObjectSource gets the versions of its objects from.
enum class ObjectVersions : uint8_t {
  kFromTable,  ///< the key table has them, or they are not needed
  kLearned,    ///< the store reports them with the objects; takes eight bytes per sample
};

/// Objects of a store, one per sample. The fields are `bytes`, `key`, and the columns of the index.
/// The id is the index in the key table. If sizes are not known, fetch() estimates them from the
/// mean and the maximum of the objects read so far. Any thread may use it.
class ObjectSource final : public SampleSource, public PlacedSource, private LearnedVersions {
 public:
  /// `store_key` maps the key of a sample to its key in the store.
  ObjectSource(std::shared_ptr<Store> store, std::function<std::string(std::string_view)> store_key, KeyTable keys,
               std::vector<Column> columns, ObjectSizes sizes = ObjectSizes::kKnown,
               ObjectVersions versions = ObjectVersions::kFromTable);

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return keys_.size(); }
  Hash128 version() const override { return version_; }
  uint64_t index_bytes() const override;
  std::string key(int64_t id) const override { return store_->display_name(store_key_(keys_.key(id))); }
  std::string lasting_key(int64_t id) const override { return std::string(keys_.key(id)); }
  std::optional<Identity> identity(int64_t id) const override;
  const LearnedVersions* learned_versions() const override { return learned_versions_ ? this : nullptr; }
  Fetch fetch(int64_t id) const override;
  ValuePlaces value_places(size_t field, std::stop_token stop) const override;
  Status load(int64_t id, Buffer fetched, Record& record) const override;
  bool gathers(size_t field) const override {
    return field >= kFirstColumn && columns_[field - kFirstColumn].gathers();
  }
  Status gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const override;

 private:
  Hash128 name(int64_t id) const override;
  std::optional<Fetch> version_request(int64_t id) const override;
  void record_answer(int64_t id, uint64_t version) const override;
  Identity learn(int64_t id, uint64_t version) const override;
  std::optional<uint64_t> learned_version(int64_t id) const override { return learned_versions_->find(id); }
  void learn_from_peer(int64_t id, uint64_t learned) const override { learned_versions_->set_if_unknown(id, learned); }
  /// Identity of the sample with the version that ReportedVersions::find() returned.
  Identity identity_with(int64_t id, uint64_t version) const;
  void hash_columns(int64_t id, Hasher& hasher) const;

  static constexpr size_t kBytes = 0, kFirstColumn = 2;
  const std::shared_ptr<Store> store_;
  const std::function<std::string(std::string_view)> store_key_;
  const KeyTable keys_;
  const std::vector<Column> columns_;
  const ObjectSizes sizes_;
  /// Sizes of the objects read so far, from which fetch() estimates the size of the next one. Used
  /// only if sizes are unknown.
  mutable std::atomic<uint64_t> objects_read_{0}, bytes_read_{0}, largest_bytes_read_{0};
  const std::unique_ptr<ReportedVersions> learned_versions_;  ///< null for ObjectVersions::kFromTable
  Schema schema_;
  Hash128 version_;
};

}  // namespace forebay
