#pragma once

#include <memory>
#include <vector>

#include "forebay/pipeline.h"
#include "format/table/open_table.h"
#include "loader/describe/open_source.h"
#include "stream/pushed_log.h"

namespace forebay {

/// Attachment of an `iterable` step: the object that pushes its records.
struct IterableAttachment {
  PushedLog::Open open;
};

/// Checks and opens logs that have an address: `stream`, and files that are followed.
void check_stream(const OpSpec& source, std::vector<Problem>& found);
Schema announced_stream(const OpSpec& source);
Result<std::shared_ptr<const Source>> open_stream(const OpSpec& source, const OpenSourceOptions& options);
/// `pattern` is the argument that names the files; `format` that of their lines, or of whole files.
Result<std::shared_ptr<const Source>> open_followed(const OpSpec& source, const char* pattern, const char* format,
                                                    bool whole_files, const OpenSourceOptions& options);
/// Opens the rows of table files that are followed.
Result<std::shared_ptr<const Source>> open_followed_table(const OpSpec& source, TableRequest::Format format,
                                                          const OpenSourceOptions& options);
bool follows(const OpSpec& source);

void check_iterable(const OpSpec& source, std::vector<Problem>& found);
Result<std::shared_ptr<const Source>> open_iterable(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
