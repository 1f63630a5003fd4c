// Payloads of logs, and what fields= says they are; and what ranks tell each other of records: any bytes give a record that fits its schema, or notes, or a status that is no defect.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "stream/ranks/record_notes.h"
#include "stream/record_bytes.h"
#include "stream/record_format.h"

using namespace forebay;

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static void check_record(const RecordFormat& format, const Record& record, size_t payload) {
  require(record.size() == format.schema().size(), "a value for each field");
  for (size_t i = 0; i < record.size(); ++i) {
    const Field& field = format.schema()[i];
    require(record[i].kind == field.kind, "of the field's kind");
    if (field.kind != FieldKind::kTensor) continue;
    require(record[i].tensor.dtype == field.dtype, "of the field's dtype");
    require(record[i].tensor.shape.rank() == field.shape.rank(), "of the field's rank");
    require(record[i].tensor.buffer.size() >= record[i].tensor.nbytes(), "with all elements");
    require(record[i].tensor.nbytes() <= 8 * payload + 8, "no more memory than the payload explains");
  }
}

static void load(const RecordFormat& format, const Buffer& payload) {
  Record record;
  const Status status = format.decode("key", payload, record);
  require(status.ok() || status.code() == Code::kCorrupt || status.code() == Code::kUnsupported,
          "what is no payload is Corrupt");
  if (status.ok()) check_record(format, record, payload.size());
}

static void check_from_ranks(const Buffer& bytes) {
  const auto notes = parse_notes(bytes.span());
  require(notes.ok() || notes.status().code() == Code::kCorrupt, "what are no notes is Corrupt");
  if (notes.ok()) {
    const Buffer again = encode_notes(*notes);
    require(again.size() == bytes.size() && std::memcmp(again.data(), bytes.data(), bytes.size()) == 0,
            "notes have one form");
  }
  const auto record = parse_record(bytes, 0);
  require(record.ok() || record.status().code() == Code::kCorrupt, "what is no record is Corrupt");
}

/// The first byte chooses the form and the length of the fields' text; where that declares nothing, some fixed fields are taken.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const char* const forms[] = {"bytes", "text", "json", "fields"};
  const char* const form = forms[data[0] % 4];
  const size_t length = std::min<size_t>(size - 1, data[0] / 4 * 4);
  const std::string fields(reinterpret_cast<const char*>(data) + 1, length);
  Buffer payload = Buffer::allocate(size - 1 - length);
  if (!payload.empty()) std::memcpy(payload.data(), data + 1 + length, payload.size());
  check_from_ranks(payload);
  const auto said = RecordFormat::parse(form, fields);
  require(said.ok() || said.status().code() == Code::kInvalidArgument, "what declares nothing is InvalidArgument");
  if (said.ok()) load(*said, payload);
  for (const char* const fixed : {R"({"a": "int8", "b": "text", "c.d": ["float32", [-1]]})",
                                  R"({"a": ["bool", [2, 2]], "t": "float16", "x": "uint64"})"}) {
    const auto format = RecordFormat::parse(data[0] % 2 == 0 ? "json" : "fields", fixed);
    load(format.value(), payload);
  }
  return 0;
}
