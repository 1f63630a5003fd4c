#include "format/object_lists.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "forebay/string_list.h"

namespace forebay {

namespace {

std::string string_of(const Value& value) {
  return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
}

}  // namespace

ObjectLists::ObjectLists(std::unique_ptr<const SampleSource> objects, PackedInts ends, Column keys,
                         std::vector<Column> columns)
    : objects_(std::move(objects)), ends_(std::move(ends)), keys_(std::move(keys)), columns_(std::move(columns)) {
  Field bytes;
  bytes.name = "bytes";
  bytes.kind = FieldKind::kBytesList;
  bytes.fetched = true;
  schema_.push_back(bytes);
  schema_.push_back(keys_.field());
  Hasher hasher;
  const Hash128 all = objects_->version();
  hasher.update_value(all.high);
  hasher.update_value(all.low);
  for (int64_t id = 0; id < size(); ++id) hasher.update_value(end(id));
  for (const Column& column : columns_) {
    schema_.push_back(column.field());
    column.hash(hasher);
  }
  version_ = hasher.digest();
}

uint64_t ObjectLists::index_bytes() const {
  uint64_t bytes = objects_->index_bytes() + ends_.bytes() + keys_.bytes();
  for (const Column& column : columns_) bytes += column.bytes();
  return bytes;
}

std::string ObjectLists::key(int64_t id) const {
  const int64_t objects = count(id);
  if (objects == 0) return fmt::format("row {}, which lists no object", id + 1);
  const std::string first = objects_->key(begin(id));
  return objects == 1 ? first : fmt::format("{} and {} more", first, objects - 1);
}

std::string ObjectLists::lasting_key(int64_t id) const { return string_of(keys_.value(id)); }

std::optional<Identity> ObjectLists::identity(int64_t id) const {
  Hasher hasher;
  hasher.update_value(count(id));
  for (int64_t i = begin(id); i < end(id); ++i) {
    const std::optional<Identity> own = objects_->identity(i);
    if (!own) return std::nullopt;
    hasher.update_value(own->hash.high);
    hasher.update_value(own->hash.low);
  }
  for (const Column& column : columns_) hash_value(hasher, column, id);
  return Identity(hasher.digest());
}

SampleSource::Fetch ObjectLists::fetch(int64_t id) const {
  if (count(id) == 0) {
    Fetch none;
    none.store = objects_->fetch(0).store;
    return none;
  }
  Fetch all = objects_->fetch(begin(id));
  for (int64_t i = begin(id) + 1; i < end(id); ++i) all.others.push_back(objects_->fetch(i));
  return all;
}

Status ObjectLists::load(int64_t id, Buffer fetched, Record& record) const {
  return load_all(id, std::span(&fetched, 1), record);
}

Status ObjectLists::load_all(int64_t id, std::span<const Buffer> fetched, Record& record) const {
  FOREBAY_ASSIGN(Buffer list, list_of(id, fetched));
  record.clear();
  record.push_back(Value::of_list(FieldKind::kBytesList, std::move(list)));
  record.push_back(keys_.value(id));
  for (const Column& column : columns_) record.push_back(column.value(id));
  return {};
}

// Empty if nothing was fetched, because the bytes were not requested.
Result<Buffer> ObjectLists::list_of(int64_t id, std::span<const Buffer> fetched) const {
  const auto wanted = static_cast<size_t>(count(id));
  if (fetched.empty() || (fetched.size() == 1 && wanted != 1)) return Buffer();
  if (fetched.size() != wanted) return internal_error("the reads of a list gave another number of objects");
  std::vector<std::string_view> objects;
  Record one;
  for (size_t i = 0; i < wanted; ++i) {
    Status status = objects_->load(begin(id) + static_cast<int64_t>(i), fetched[i], one);
    if (!status.ok()) return std::move(status).with_key(objects_->key(begin(id) + static_cast<int64_t>(i)));
    objects.emplace_back(reinterpret_cast<const char*>(fetched[i].data()), fetched[i].size());
  }
  FOREBAY_ASSIGN(const Tensor packed, StringList::pack(objects));
  return packed.buffer;
}

Status ObjectLists::gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const {
  columns_[field - kFirstColumn].gather(ids, out);
  return {};
}

}  // namespace forebay
