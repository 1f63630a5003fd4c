#include "store/s3/s3_answers.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "store/percent.h"
#include "store/s3/xml.h"

namespace forebay {

namespace {

using Kind = XmlEvent::Kind;

/// Calls `on_element(name)` for every child element of the one that just began; it must consume it.
template <typename OnElement>
Status for_each_element(XmlReader& reader, OnElement&& on_element) {
  while (true) {
    FOREBAY_ASSIGN(const XmlEvent event, reader.next());
    if (event.kind == Kind::kEnd || event.kind == Kind::kDone) return {};
    if (event.kind == Kind::kBegin) FOREBAY_RETURN_IF_ERROR(on_element(event.text));
  }
}

Status take_text(XmlReader& reader, std::string* out) {
  FOREBAY_ASSIGN(*out, reader.text_of_element());
  return {};
}

Status begin_root(XmlReader& reader, std::string_view expected) {
  FOREBAY_ASSIGN(const XmlEvent root, reader.next());
  if (!expected.empty() && root.text != expected) {
    return corrupt(fmt::format("the server answered with <{}> instead of <{}>", root.text, expected));
  }
  return {};
}

Status read_error(XmlReader& reader, S3ErrorBody* error) {
  FOREBAY_RETURN_IF_ERROR(begin_root(reader, "Error"));
  return for_each_element(reader, [&](std::string_view name) -> Status {
    if (name == "Code") return take_text(reader, &error->code);
    if (name == "Message") return take_text(reader, &error->message);
    if (name == "Region") return take_text(reader, &error->region);
    if (name == "Endpoint") return take_text(reader, &error->endpoint);
    if (name == "ServerTime") return take_text(reader, &error->server_time);
    return reader.skip_element();
  });
}

/// The parts of a listing as they stand in the document: whether names are encoded may be known
/// only at its end.
struct RawListing {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> prefixes;
  std::string truncated, encoding, continuation;
};

Status read_object(XmlReader& reader, ObjectInfo* object) {
  std::optional<uint64_t> size;
  bool named = false;
  FOREBAY_RETURN_IF_ERROR(for_each_element(reader, [&](std::string_view name) -> Status {
    if (name == "Key") {
      named = true;
      return take_text(reader, &object->key);
    }
    if (name == "ETag") {
      FOREBAY_ASSIGN(const std::string etag, reader.text_of_element());
      object->version = version_of_etag(etag);
      return {};
    }
    if (name != "Size") return reader.skip_element();
    FOREBAY_ASSIGN(const std::string text, reader.text_of_element());
    uint64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      return corrupt("the listing gives a size that is no number");
    }
    size = value;
    return {};
  }));
  if (!named || !size) return corrupt("the listing has an entry without key or size");
  object->size = *size;
  return {};
}

Status read_listing(XmlReader& reader, RawListing* raw) {
  FOREBAY_RETURN_IF_ERROR(begin_root(reader, "ListBucketResult"));
  return for_each_element(reader, [&](std::string_view name) -> Status {
    if (name == "Contents") return read_object(reader, &raw->objects.emplace_back());
    if (name == "CommonPrefixes") {
      return for_each_element(reader, [&](std::string_view inner) {
        return inner == "Prefix" ? take_text(reader, &raw->prefixes.emplace_back()) : reader.skip_element();
      });
    }
    if (name == "IsTruncated") return take_text(reader, &raw->truncated);
    if (name == "EncodingType") return take_text(reader, &raw->encoding);
    if (name == "NextContinuationToken") return take_text(reader, &raw->continuation);
    return reader.skip_element();
  });
}

Status read_upload(XmlReader& reader, S3PartialUpload* upload) {
  FOREBAY_RETURN_IF_ERROR(for_each_element(reader, [&](std::string_view name) -> Status {
    if (name == "Key") return take_text(reader, &upload->key);
    if (name == "UploadId") return take_text(reader, &upload->id);
    return reader.skip_element();
  }));
  if (upload->key.empty() || upload->id.empty()) return corrupt("the list of uploads has one without key or id");
  return {};
}

bool hidden(std::string_view key, std::string_view prefix) { return key.substr(prefix.size()).starts_with('.'); }

}  // namespace

S3ErrorBody parse_s3_error(std::string_view body) {
  S3ErrorBody error;
  XmlReader reader(body);
  (void)read_error(reader, &error);  // what was read before a defect still helps
  return error;
}

Result<S3ListPage> parse_s3_list(std::string_view body, std::string_view prefix, std::string_view until) {
  RawListing raw;
  XmlReader reader(body);
  FOREBAY_RETURN_IF_ERROR(read_listing(reader, &raw));
  const bool encoded = raw.encoding == "url";
  S3ListPage list;
  list.found = !raw.objects.empty() || !raw.prefixes.empty();
  bool behind = false;
  const auto accept = [&](std::string& name) -> Result<bool> {
    // Only names are encoded; the continuation is the server's own and stays as it is.
    if (encoded) name = percent_decode_listing(name);
    if (!name.starts_with(prefix)) return corrupt("the listing names objects outside of the folder that was asked for");
    // Names come in byte order, so no wanted name can follow.
    if (!until.empty() && name >= until) behind = true;
    if (!until.empty() && name > until) return false;
    if (hidden(name, prefix)) {
      ++list.page.hidden;
      return false;
    }
    // An object named like the folder itself is a marker made by consoles, and not a sample.
    return name.size() > prefix.size();
  };
  list.page.objects.reserve(raw.objects.size());
  for (ObjectInfo& object : raw.objects) {
    FOREBAY_ASSIGN(const bool accepted, accept(object.key));
    if (accepted) list.page.objects.push_back(std::move(object));
  }
  for (std::string& folder : raw.prefixes) {
    FOREBAY_ASSIGN(const bool accepted, accept(folder));
    if (accepted) list.page.prefixes.push_back(std::move(folder));
  }
  if (raw.truncated == "true" && !behind) {
    if (raw.continuation.empty())
      return corrupt("the listing is incomplete, and the server does not say where it continues");
    list.page.continuation = std::move(raw.continuation);
  }
  return list;
}

Result<S3UploadsPage> parse_s3_uploads(std::string_view body) {
  S3UploadsPage page;
  std::string truncated, encoding;
  XmlReader reader(body);
  FOREBAY_RETURN_IF_ERROR(begin_root(reader, "ListMultipartUploadsResult"));
  FOREBAY_RETURN_IF_ERROR(for_each_element(reader, [&](std::string_view name) -> Status {
    if (name == "Upload") return read_upload(reader, &page.uploads.emplace_back());
    if (name == "IsTruncated") return take_text(reader, &truncated);
    if (name == "EncodingType") return take_text(reader, &encoding);
    if (name == "NextKeyMarker") return take_text(reader, &page.next_key);
    if (name == "NextUploadIdMarker") return take_text(reader, &page.next_id);
    return reader.skip_element();
  }));
  if (truncated != "true") page.next_key.clear(), page.next_id.clear();
  if (truncated == "true" && page.next_key.empty())
    return corrupt("the list of uploads is incomplete, and the server does not say where it continues");
  if (encoding == "url") {
    page.next_key = percent_decode_listing(page.next_key);
    for (S3PartialUpload& upload : page.uploads) upload.key = percent_decode_listing(upload.key);
  }
  return page;
}

Result<std::string> parse_s3_element(std::string_view body, std::string_view name) {
  XmlReader reader(body);
  FOREBAY_RETURN_IF_ERROR(begin_root(reader, ""));
  std::string found;
  FOREBAY_RETURN_IF_ERROR(for_each_element(reader, [&](std::string_view element) {
    return element == name ? take_text(reader, &found) : reader.skip_element();
  }));
  if (found.empty()) return corrupt(fmt::format("the server's answer lacks <{}>", name));
  return found;
}

}  // namespace forebay
