#include "pipeline/cache_stage.h"

namespace forebay {

Hash128 entry_key(const Hash128& place, const Hash128& identity) {
  Hasher hasher;
  for (const Hash128& part : {place, identity}) {
    hasher.update_value(part.high);
    hasher.update_value(part.low);
  }
  return hasher.digest();
}

// Its low half is what hash maps look at.
Hash128 entry_of_old(const KeptSample& sample) {
  return {static_cast<uint64_t>(sample.epoch), static_cast<uint64_t>(sample.id)};
}

namespace {

/// An entry that only has to be there.
std::shared_ptr<const Columns> made_sign() {
  Field field;
  field.name = "made";
  auto columns = std::make_shared<Columns>();
  columns->schema = Schema({field});
  columns->rows = 1;
  columns->values = {{Buffer::allocate(1), {}}};
  columns->values[0].values.data()[0] = 1;
  return columns;
}

}  // namespace

std::optional<Identity> CacheStage::entry(const Source& source, int64_t id) const {
  if (!cache) return std::nullopt;
  const std::optional<Identity> identity = source.identity(id);
  if (!identity) return std::nullopt;
  return Identity(entry_key(place, identity->hash), identity->lasting);
}

Identity CacheStage::entry_of(const Source& source, int64_t id, uint64_t version) const {
  const Identity identity = source.learned_versions()->learn(id, version);
  return {entry_key(place, identity.hash), identity.lasting};
}

Identity CacheStage::entry_of_unread(const LearnedVersions& versions, int64_t id) const {
  // No read will ever tell a version, and none is needed: nothing of the object's content is in the entry.
  return entry_key(entry_key(place, versions.name(id)), hash128("unread"));
}

bool CacheStage::made_before(const LearnedVersions& versions, int64_t id) const {
  return cache && cache->has(entry_key(place, versions.name(id)));
}

void CacheStage::note_made(const LearnedVersions& versions, int64_t id, const Identity& entry) const {
  const Hash128 name = entry_key(place, versions.name(id));
  // Under the name without a version: so it is known that something was made, though not of which version, and
  // asking for the version pays (RowWork::ask_version()).
  if (entry.lasting && cache->has(entry.hash) && !cache->has(name)) cache->put(name, made_sign(), 0);
}

std::optional<EntryCache::Found> CacheStage::find(const Identity& entry, int64_t id, bool asks_others) const {
  return asks_others ? cache->find_of(entry.hash, id) : cache->find(entry.hash);
}

std::optional<Hash128> CacheStage::flight_key(const Source& source, int64_t id) const {
  if (!cache) return std::nullopt;
  if (const LearnedVersions* const versions = source.learned_versions()) return entry_key(place, versions->name(id));
  const std::optional<Identity> known = entry(source, id);
  return known ? std::optional(known->hash) : std::nullopt;
}

void CacheStage::keep(const Identity& entry, const Record& record, const Extras& extras, double seconds,
                      int64_t id) const {
  Schema fields;
  Record values;
  uint64_t bytes = 0;
  const auto add = [&](Field field, const Value& value) {
    fields.push_back(std::move(field));
    values.push_back(value.copy());
    bytes += value.nbytes();
  };
  for (size_t i = 0; i < schema.size(); ++i) {
    if (kept[i]) add(schema[i], record[i]);
  }
  for (const auto& [name, value] : extras) {
    Field field;
    field.name = name;
    field.kind = FieldKind::kAny;
    add(std::move(field), value);
  }
  if (!cache->admits(bytes)) return;
  Result<Columns> columns = columns_of(fields, values);
  if (!columns.ok()) return;  // no form that could be kept, such as a value that user code left out
  cache->put(entry.hash, std::make_shared<const Columns>(std::move(*columns)), seconds,
             entry.lasting ? KeepIn::kAnyTier : KeepIn::kMemory, id);
  counters->add(1, bytes, bytes, 0);
}

Status CacheStage::restore(const Columns& entry, const Source& source, int64_t id, Record& record,
                           Extras& extras) const {
  Record known;
  for (const auto& field : from_source) {
    if (!field) continue;
    // One call for all of these fields, which need no stored bytes.
    FOREBAY_RETURN_IF_ERROR(source.as_samples()->load(id, Buffer(), known));
    break;
  }
  Record values = entry.row(0);
  record.clear();
  size_t next = 0;
  for (size_t i = 0; i < schema.size(); ++i) {
    if (kept[i] && next >= values.size()) return corrupt("an entry of the cache has fewer fields than its place");
    if (kept[i]) {
      record.push_back(std::move(values[next++]));
    } else {
      record.push_back(from_source[i] ? std::move(known[*from_source[i]]) : Value());
    }
  }
  extras.clear();
  for (; next < values.size(); ++next) extras.emplace_back(entry.schema[next].name, std::move(values[next]));
  return {};
}

}  // namespace forebay
