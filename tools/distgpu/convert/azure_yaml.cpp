#include "convert/azure_yaml.h"

#include "base/format.h"

#include <memory>
#include <optional>
#include <yaml.h>

namespace distgpu {
namespace {

class Tree {
  public:
    explicit Tree(yaml_document_t& document) : document_(document) {}

    // Nothing: too many values, or one within itself.
    std::optional<AzureValue> value(const yaml_node_t* node, int depth) {
        constexpr std::size_t most_values = 10000;
        constexpr int deepest = 50;
        if (node == nullptr || depth > deepest || ++values_ > most_values) return std::nullopt;
        AzureValue read;
        read.line = node->start_mark.line + 1;
        const bool whole = node->type == YAML_SCALAR_NODE     ? take_text(*node, read)
                           : node->type == YAML_SEQUENCE_NODE ? take_items(*node, read, depth)
                                                              : take_fields(*node, read, depth);
        return whole ? std::optional(std::move(read)) : std::nullopt;
    }

  private:
    static std::string text_of(const yaml_node_t& node) {
        if (node.type != YAML_SCALAR_NODE) return "";
        // libyaml's characters are unsigned.
        const auto* const text = reinterpret_cast<const char*>(node.data.scalar.value);
        return {text, node.data.scalar.length};
    }

    static bool take_text(const yaml_node_t& node, AzureValue& read) {
        read.kind = AzureValue::Kind::text;
        read.text = text_of(node);
        return true;
    }

    bool take_items(const yaml_node_t& node, AzureValue& read, int depth) {
        read.kind = AzureValue::Kind::list;
        const auto& items = node.data.sequence.items;
        for (const yaml_node_item_t* item = items.start; item < items.top; ++item) {
            auto each = value(yaml_document_get_node(&document_, *item), depth + 1);
            if (!each) return false;
            read.items.push_back(*std::move(each));
        }
        return true;
    }

    bool take_fields(const yaml_node_t& node, AzureValue& read, int depth) {
        read.kind = AzureValue::Kind::map;
        const auto& pairs = node.data.mapping.pairs;
        for (const yaml_node_pair_t* pair = pairs.start; pair < pairs.top; ++pair) {
            auto each = value(yaml_document_get_node(&document_, pair->value), depth + 1);
            if (!each) return false;
            read.fields.emplace_back(text_of(*yaml_document_get_node(&document_, pair->key)),
                                     *std::move(each));
        }
        return true;
    }

    yaml_document_t& document_;
    std::size_t values_ = 0;
};

}  // namespace

Result<AzureValue> read_azure_yaml(const std::string& file, std::string_view text) {
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0) return Error{file, "out of memory", ""};
    const std::unique_ptr<yaml_parser_t, void (*)(yaml_parser_t*)> end(&parser, yaml_parser_delete);
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
    yaml_document_t document;
    if (yaml_parser_load(&parser, &document) == 0) {
        return Error{formatted("{}:{}", file, parser.problem_mark.line + 1),
                     formatted("not YAML: {}", parser.problem == nullptr ? "" : parser.problem),
                     "mend it there"};
    }
    const std::unique_ptr<yaml_document_t, void (*)(yaml_document_t*)> gone(&document,
                                                                            yaml_document_delete);
    auto job = Tree(document).value(yaml_document_get_root_node(&document), 0);
    if (job && job->kind == AzureValue::Kind::map) return *std::move(job);
    return Error{file, job ? "not a job: it has no fields" : "empty, or too many values",
                 "give a job as az ml job create takes it"};
}

}  // namespace distgpu
