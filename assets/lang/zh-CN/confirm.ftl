# confirm
