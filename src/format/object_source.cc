#include "format/object_source.h"

#include <algorithm>
#include <utility>

#include "base/sniff.h"

namespace forebay {

namespace {
constexpr uint64_t kFirstGuessBytes = 256 << 10, kLeastGuessBytes = 64 << 10;
}  // namespace

ObjectSource::ObjectSource(std::shared_ptr<Store> store, std::function<std::string(std::string_view)> store_key,
                           KeyTable keys, std::vector<Column> columns, ObjectSizes sizes, ObjectVersions versions)
    : store_(std::move(store)), store_key_(std::move(store_key)), keys_(std::move(keys)), columns_(std::move(columns)),
      sizes_(sizes),
      learned_versions_(versions == ObjectVersions::kLearned ? std::make_unique<ReportedVersions>(keys_.size())
                                                             : nullptr) {
  Field bytes, key;
  bytes.name = "bytes";
  bytes.kind = FieldKind::kBytes;
  bytes.fetched = true;
  key.name = "key";
  key.kind = FieldKind::kText;
  schema_.push_back(bytes);
  schema_.push_back(key);
  version_ = keys_.version();
  if (columns_.empty()) return;
  Hasher hasher;
  hasher.update_value(version_.high);
  hasher.update_value(version_.low);
  for (const Column& column : columns_) {
    schema_.push_back(column.field());
    column.hash(hasher);
  }
  version_ = hasher.digest();
}

uint64_t ObjectSource::index_bytes() const {
  uint64_t bytes = keys_.index_bytes();
  for (const Column& column : columns_) bytes += column.bytes();
  if (learned_versions_) bytes += learned_versions_->bytes();
  return bytes;
}

void ObjectSource::hash_columns(int64_t id, Hasher& hasher) const {
  for (const Column& column : columns_) hash_value(hasher, column, id);
}

std::optional<Identity> ObjectSource::identity(int64_t id) const {
  if (learned_versions_) {
    const std::optional<uint64_t> version = learned_versions_->find(id);
    return version ? std::optional<Identity>(identity_with(id, *version)) : std::nullopt;
  }
  Hasher hasher;
  if (!hash_object(hasher, key(id), keys_, id)) return std::nullopt;
  hash_columns(id, hasher);
  return hasher.digest();
}

Identity ObjectSource::identity_with(int64_t id, uint64_t version) const {
  Hasher hasher;
  hash_object(hasher, key(id), keys_, id, version);
  hash_columns(id, hasher);
  return Identity(hasher.digest(), /*lasts=*/ReportedVersions::is_version(version));
}

Hash128 ObjectSource::name(int64_t id) const {
  Hasher hasher;
  hash_object(hasher, key(id), keys_, id, 0);
  hash_columns(id, hasher);
  return hasher.digest();
}

std::optional<SampleSource::Fetch> ObjectSource::version_request(int64_t id) const {
  if (!learned_versions_->is_unknown(id)) return std::nullopt;
  Fetch fetch;
  fetch.store = store_.get();
  fetch.request.key = store_key_(keys_.key(id));
  fetch.request.version_only = true;
  return fetch;
}

void ObjectSource::record_answer(int64_t id, uint64_t version) const {
  if (version == 0) return learned_versions_->set_unavailable(id);
  learned_versions_->set(id, version);
}

Identity ObjectSource::learn(int64_t id, uint64_t version) const {
  const std::optional<uint64_t> before = learned_versions_->find(id);
  // A number, also one from another host, is not replaced, so that entries made with it are found
  // again.
  if (version != 0 || !before || ReportedVersions::is_version(*before)) learned_versions_->set(id, version);
  if (version == 0) learned_versions_->warn_no_version(key(id));
  return identity_with(id, *learned_versions_->find(id));
}

SampleSource::Fetch ObjectSource::fetch(int64_t id) const {
  Fetch fetch;
  fetch.store = store_.get();
  fetch.request.key = store_key_(keys_.key(id));
  if (sizes_ == ObjectSizes::kKnown) {
    fetch.size = keys_.object_bytes(id);
    fetch.request.expected_size = fetch.size;
  } else {
    // A low estimate costs a second request, a high one costs some memory for a while.
    const uint64_t objects = objects_read_.load(std::memory_order_relaxed);
    const uint64_t mean = objects == 0 ? 0 : bytes_read_.load(std::memory_order_relaxed) / objects;
    // Each new maximum would be read twice, so the estimate leaves space for twice the maximum. It
    // is limited to eight times the mean, so that one large object does not enlarge all reads.
    const uint64_t likely = std::min(2 * largest_bytes_read_.load(std::memory_order_relaxed), 8 * mean);
    fetch.size = objects == 0 ? kFirstGuessBytes : std::max(likely, kLeastGuessBytes);
  }
  return fetch;
}

ValuePlaces ObjectSource::value_places(size_t field, std::stop_token /*stop*/) const {
  if (field != kBytes || sizes_ != ObjectSizes::kKnown) return {};
  return {[this](int64_t id, uint64_t bytes) {
    Fetch head = fetch(id);
    if (head.size <= bytes) return head;
    head.request.range = ByteRange{0, bytes};
    head.size = bytes;
    return head;
  }};
}

Status ObjectSource::load(int64_t id, Buffer fetched, Record& record) const {
  // Without an owner nothing was fetched, because the bytes were not requested.
  if (sizes_ == ObjectSizes::kUnknown && fetched.owner()) {
    bytes_read_.fetch_add(fetched.size(), std::memory_order_relaxed);
    objects_read_.fetch_add(1, std::memory_order_relaxed);
    uint64_t largest = largest_bytes_read_.load(std::memory_order_relaxed);
    while (largest < fetched.size() && !largest_bytes_read_.compare_exchange_weak(largest, fetched.size())) {
    }
  }
  if (fetched.owner()) FOREBAY_RETURN_IF_ERROR(check_no_pointer(fetched.span(), fetched.size()));
  record.clear();
  record.push_back(Value::of_bytes(std::move(fetched)));
  record.push_back(Value::of_text(keys_.key_buffer(id)));
  for (const Column& column : columns_) record.push_back(column.value(id));
  return {};
}

Status ObjectSource::gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const {
  columns_[field - kFirstColumn].gather(ids, out);
  return {};
}

}  // namespace forebay
