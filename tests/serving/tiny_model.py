"""A model without weights, Llama's smallest, with a tokenizer that has a token for each byte.

    tiny_model.py FOLDER

vLLM makes its weights up: --load-format dummy.
"""

import json
import pathlib
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

folder = pathlib.Path(sys.argv[1])
folder.mkdir()
words = ["<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
tokenizer = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens(words[:2])
tokenizer.save(str(folder / "tokenizer.json"))
named = {"bos_token": words[0], "eos_token": words[1]}
settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, **named}
(folder / "tokenizer_config.json").write_text(json.dumps(settings))
model = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": len(words),
    "max_position_embeddings": 512,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
(folder / "config.json").write_text(json.dumps(model))
