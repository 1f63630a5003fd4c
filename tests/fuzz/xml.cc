// The reader of S3 answers: any text gives a listing, an error body, or a status, and the events of a document nest.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "store/s3/s3_answers.h"
#include "store/s3/xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace forebay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  XmlReader reader(text);
  size_t depth = 0, steps = 0;
  while (true) {
    const auto event = reader.next();
    if (!event.ok()) break;
    if (event->kind == XmlEvent::Kind::kDone) {
      if (depth != 0) std::abort();
      break;
    }
    if (event->kind == XmlEvent::Kind::kBegin) ++depth;
    if (event->kind == XmlEvent::Kind::kEnd && depth-- == 0) std::abort();
    if (depth > XmlReader::kMaxDepth || ++steps > 2 * size + 2) std::abort();
  }
  (void)parse_s3_error(text);
  const auto list = parse_s3_list(text, "a/", "a/m");
  if (list.ok()) {
    for (const ObjectInfo& object : list->page.objects) {
      if (!object.key.starts_with("a/") || object.key > "a/m" || object.key.size() <= 2) std::abort();
    }
  }
  (void)parse_s3_element(text, "UploadId");
  return 0;
}
