#include "format/joined/joined_samples.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/reads_nothing.h"
#include "format/object_lists.h"

namespace forebay {

JoinedSamples::JoinedSamples(std::vector<JoinedPart> parts, int64_t size, std::optional<Hash128> version)
    : parts_(std::move(parts)), size_(size), schema_(joined_schema(parts_)),
      version_(version ? *version : joined_version(parts_, size)) {
  for (size_t part = 0; part < parts_.size(); ++part) {
    reads_.push_back(parts_[part].fetches());
    lengths_.push_back(known_lengths(*parts_[part].source));
    for (size_t field = 0; field < parts_[part].source->schema().size(); ++field) fields_.push_back({part, field});
  }
}

int64_t JoinedSamples::ids() const {
  int64_t all = size_;
  for (const JoinedPart& part : parts_) all *= part.drawn ? part.count : 1;
  return all;
}

std::optional<size_t> JoinedSamples::object_of(const std::string& part) const {
  size_t object = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const bool has_one = reads_[i] && parts_[i].object_lists() == nullptr;
    if (parts_[i].name == part) return has_one ? std::optional(object) : std::nullopt;
    object += has_one ? 1 : 0;
  }
  return std::nullopt;
}

std::vector<Store*> JoinedSamples::stores() const {
  std::vector<Store*> all;
  for (const size_t part : parts_as_read())
    if (samples(part).size() > 0) all.push_back(samples(part).fetch(0).store);
  return all;
}

std::optional<Identity> JoinedSamples::identity(int64_t id) const {
  Hasher hasher;
  bool lasting = true;
  for (const JoinedPart& part : parts_) {
    const std::optional<Identity> own = part.source->identity(part.row(id));
    if (!own) return std::nullopt;
    hasher.update_value(own->hash.high);
    hasher.update_value(own->hash.low);
    lasting = lasting && own->lasting;
  }
  return Identity(hasher.digest(), lasting);
}

SampleSource::Fetch JoinedSamples::fetch(int64_t id) const {
  Fetch all;
  for (const size_t part : parts_as_read()) {
    Fetch own = samples(part).fetch(parts_[part].row(id));
    if (reads_nothing(all)) {
      all = std::move(own);
    } else if (!reads_nothing(own)) {
      std::vector<Fetch> others = std::exchange(own.others, {});
      all.others.push_back(std::move(own));
      std::move(others.begin(), others.end(), std::back_inserter(all.others));
    }
  }
  return all;
}

// The parts whose objects are read, in the order of these. Those of lists come last, so that the
// others have the same number in each sample.
std::vector<size_t> JoinedSamples::parts_as_read() const {
  std::vector<size_t> read;
  for (const bool lists : {false, true})
    for (size_t part = 0; part < parts_.size(); ++part)
      if (reads_[part] && (parts_[part].object_lists() != nullptr) == lists) read.push_back(part);
  return read;
}

size_t JoinedSamples::objects_of(size_t part, int64_t id) const {
  const ObjectLists* const lists = parts_[part].object_lists();
  return lists == nullptr ? 1 : static_cast<size_t>(lists->count(parts_[part].row(id)));
}

Status JoinedSamples::load(int64_t id, Buffer fetched, Record& record) const {
  return load_all(id, std::span(&fetched, 1), record);
}

// `fetched` may have fewer buffers than parts that are read: the values of their fields are left
// empty then.
Status JoinedSamples::load_all(int64_t id, std::span<const Buffer> fetched, Record& record) const {
  std::vector<std::span<const Buffer>> objects(parts_.size());
  for (const size_t part : parts_as_read()) {
    objects[part] = fetched.first(std::min(objects_of(part, id), fetched.size()));
    fetched = fetched.subspan(objects[part].size());
  }
  record.clear();
  for (size_t part = 0; part < parts_.size(); ++part) {
    Record own;
    Status status = samples(part).load_all(parts_[part].row(id), objects[part], own);
    if (!status.ok())
      return Status(status.code(), fmt::format("the part '{}': {}", parts_[part].name, status.message()));
    std::move(own.begin(), own.end(), std::back_inserter(record));
  }
  return {};
}

std::shared_ptr<const SampleSource> JoinedSamples::with_fields(std::span<const std::string> names) const {
  std::vector<bool> reads(parts_.size(), false);
  for (size_t i = 0; i < schema_.size(); ++i) {
    if (schema_[i].fetched && std::ranges::find(names, schema_[i].name) != names.end()) reads[fields_[i].part] = true;
  }
  if (reads == reads_) return nullptr;
  auto source = std::make_shared<JoinedSamples>(*this);
  source->reads_ = std::move(reads);
  return source;
}

bool JoinedSamples::knows_lengths(size_t field) const {
  const auto [part, own] = fields_[field];
  return lengths_[part] != nullptr && lengths_[part]->knows_lengths(own);
}

int64_t JoinedSamples::length(size_t field, int64_t id) const {
  const auto [part, own] = fields_[field];
  return lengths_[part]->length(own, parts_[part].row(id));
}

// A part with draws of its own has another sample each time.
ValuePlaces JoinedSamples::value_places(size_t field, std::stop_token stop) const {
  const JoinedPart& part = part_of(field);
  if (part.drawn) return {};
  ValuePlaces places = forebay::value_places(*part.source, fields_[field].field, std::move(stop));
  if (places)
    places.find = [&part, own = std::move(places.find)](int64_t id, uint64_t bytes) {
      return own(part.row(id), bytes);
    };
  return places;
}

bool JoinedSamples::gathers(size_t field) const { return samples(fields_[field].part).gathers(fields_[field].field); }

Status JoinedSamples::gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const {
  const auto [part, own] = fields_[field];
  if (!parts_[part].rows && parts_[part].count == 0 && parts_[part].passes == 1)
    return samples(part).gather(own, ids, out);
  std::vector<int64_t> rows;
  for (const int64_t id : ids) rows.push_back(parts_[part].row(id));
  return samples(part).gather(own, rows, out);
}

const JoinedSamples* as_joined(const Source& source) { return dynamic_cast<const JoinedSamples*>(&source); }

}  // namespace forebay
