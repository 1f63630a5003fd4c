#include "pipeline/content_keys.h"

#include <utility>

#include "pipeline/batch_job.h"

namespace forebay {

namespace {

// An entry without content, whose presence says that its key was stored.
std::shared_ptr<const Columns> presence_marker() {
  Field field;
  field.name = "made";
  auto columns = std::make_shared<Columns>();
  columns->schema = Schema({field});
  columns->rows = 1;
  columns->values = {{Buffer::allocate(1), {}}};
  columns->values[0].values.data()[0] = 1;
  return columns;
}

int64_t id_of(const BatchJob& batch, int64_t row) { return batch.rows()[static_cast<size_t>(row)].id; }

}  // namespace

Hash128 entry_key(const Hash128& steps_identity, const Hash128& identity) {
  Hasher hasher;
  for (const Hash128& part : {steps_identity, identity}) {
    hasher.update_value(part.high);
    hasher.update_value(part.low);
  }
  return hasher.digest();
}

std::optional<Identity> ContentKeys::key_of(int64_t id) const {
  // The plan does not read the object, so no version is needed: the entry holds nothing of its
  // content.
  if (versions_ != nullptr && !fetches_)
    return entry_key(entry_key(steps_identity_, versions_->name(id)), hash128("unread"));
  const std::optional<Identity> identity = source_->identity(id);
  if (!identity) return std::nullopt;
  return Identity(entry_key(steps_identity_, identity->hash), identity->lasting);
}

std::optional<Identity> ContentKeys::lookup_key(const BatchJob& batch, int64_t row) const {
  return key_of(id_of(batch, row));
}

std::optional<Identity> ContentKeys::store_key(const BatchJob& batch, int64_t row,
                                               std::optional<uint64_t> version) const {
  if (!version) return key_of(id_of(batch, row));
  const Identity identity = versions_->learn(id_of(batch, row), *version);
  return Identity(entry_key(steps_identity_, identity.hash), identity.lasting);
}

// If versions are learned, the flight's key is the sample's name, since the version is known only
// after the object was read.
std::optional<Hash128> ContentKeys::flight_key(const BatchJob& batch, int64_t row) const {
  const int64_t id = id_of(batch, row);
  if (versions_ != nullptr) return entry_key(steps_identity_, versions_->name(id));
  const std::optional<Identity> known = key_of(id);
  return known ? std::optional(known->hash) : std::nullopt;
}

// Entries of objects that are not read are faster to compute than to ask for. Learned versions are
// shared in a job, even if they are valid only for this job.
bool ContentKeys::peers_know(const Identity& entry) const {
  return fetches_ && (entry.lasting || versions_ != nullptr);
}

// An earlier run or a peer may have made an entry. It can be used once the version of the object is
// known.
std::optional<VersionQuery> ContentKeys::version_query(const BatchJob& batch, int64_t row) const {
  const int64_t id = id_of(batch, row);
  if (!learns_versions() || !versions_->version_request(id)) return std::nullopt;
  const Hash128 name = versions_->name(id);
  if (auto other = cache_->find_version(name, id)) {
    return VersionQuery{SampleSource::Fetch{other->store, std::move(other->request), sizeof(uint64_t)},
                        [this, id, name](uint64_t, const Buffer& bytes) {
                          const std::optional<uint64_t> version = cache_->version_of(name, bytes);
                          if (version) versions_->learn_from_peer(id, *version);
                        }};
  }
  if (!cache_->has(entry_key(steps_identity_, name))) return std::nullopt;
  return VersionQuery{*versions_->version_request(id),
                      [this, id](uint64_t version, const Buffer&) { versions_->record_answer(id, version); }};
}

// Stores a marker under the object's name without a version. It says that an entry of some version
// exists, so that it is worthwhile to ask for the version.
void ContentKeys::on_stored(const BatchJob& batch, int64_t row, const Identity& entry) const {
  if (!learns_versions() || !entry.lasting || !cache_->has(entry.hash)) return;
  const Hash128 name = entry_key(steps_identity_, versions_->name(id_of(batch, row)));
  if (!cache_->has(name)) cache_->put(name, presence_marker(), 0);
}

}  // namespace forebay
