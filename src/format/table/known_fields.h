#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/table_codec.h"
#include "format/table/united_schema.h"

namespace forebay {

/// The type of the field's elements; for lists of strings, that of the strings.
ColumnType field_column_type(const TableFile& file, size_t at);
/// The type and shape of the field, for messages.
std::string field_type_text(const TableFile& file, size_t at);
TableColumn::Role field_role(const TableFile& file, size_t at);
/// True if a file knows only that the column is null. Inside lists the lists themselves are known.
bool is_all_null(const TableFile::Origin& origin);

/// A field that occurs in some file of a table.
struct KnownField {
  size_t file = 0;  ///< the first file that has it, preferably with a type
  size_t at = 0;    ///< its index there
  TableColumn::Role role = TableColumn::Role::kValues;
  bool untyped = false;
  std::vector<std::string> dependents;  ///< for values: names of their masks and lengths
};

/// All fields of all files of a table by name, in the order of first appearance. It refers to
/// `files`, which the caller owns. Immutable once made.
class KnownFields {
 public:
  explicit KnownFields(std::span<const std::shared_ptr<const TableFile>> files);

  const std::vector<std::string>& order() const { return order_; }
  /// Null if no file has the field.
  const KnownField* find(const std::string& name) const;
  bool is_struct(const std::string& name) const { return structs_.contains(name); }
  /// The columns in a struct, in order; empty if no struct has that name.
  const std::vector<std::string>& members(const std::string& name) const;
  /// The index of the field in a file.
  std::optional<size_t> index_of(size_t file, const std::string& name) const;
  /// True if the file does not have the column, or has it only as null.
  bool lacks(size_t file, const std::string& name) const;
  bool some_file_lacks(const std::string& name) const;
  /// The column that a mask belongs to.
  std::string owner_of(const std::string& mask) const;
  /// The first file with the same schema object. What holds for that one holds for `file`.
  size_t first_alike(size_t file) const { return first_with_schema_.at(&files_[file]->schema()); }
  const Field& field(const KnownField& known) const { return files_[known.file]->schema()[known.at]; }

 private:
  void add(size_t file);
  static void add_dependent(KnownField& owner, const std::string& name);

  std::span<const std::shared_ptr<const TableFile>> files_;
  std::map<std::string, KnownField> fields_;
  std::vector<std::string> order_;
  std::map<std::string, std::vector<std::string>> structs_;
  std::map<const Schema*, size_t> first_with_schema_;
};

}  // namespace forebay
